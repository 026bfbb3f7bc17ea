// SPDX-License-Identifier: Apache-2.0
#include "report/html/static_page.h"

#include <gtest/gtest.h>

#include <sstream>

#include "report/html/xml_text.h"

namespace hone::report {
namespace {

TEST(XmlText, IsSafeAsTextAndInBothKindsOfQuotes) {
  EXPECT_EQ(XmlText("<a b=\"c\" d='e'>&"), "&lt;a b=&quot;c&quot; d=&#39;e&#39;&gt;&amp;");
}

TEST(XmlText, ControlCharactersAreSeenAndNotObeyed) {
  const std::string text = XmlText("a\x1b[31mb\x01");
  EXPECT_EQ(text.find('\x1b'), std::string::npos);
  EXPECT_EQ(text.find('\x01'), std::string::npos);
  EXPECT_NE(text.find("[31mb"), std::string::npos);
}

TEST(StaticPage, NothingRunsAndNothingIsLoaded) {
  std::ostringstream out;
  BeginPage("</title><script>alert(1)</script>", out);
  WriteParagraph("a < b", "faint", out);
  WriteParagraph("plain", "", out);
  EndPage(out);
  const std::string page = out.str();
  EXPECT_NE(page.find("http-equiv=\"Content-Security-Policy\" content=\"default-src 'none';"),
            std::string::npos);
  EXPECT_EQ(page.find("<script"), std::string::npos);
  EXPECT_EQ(page.find("</title>"), page.rfind("</title>"));
  EXPECT_NE(page.find("<p class=\"faint\">a &lt; b</p>\n<p>plain</p>"), std::string::npos);
}

}  // namespace
}  // namespace hone::report
