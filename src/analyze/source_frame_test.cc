// SPDX-License-Identifier: Apache-2.0
#include "analyze/source_frame.h"

#include <gtest/gtest.h>

namespace hone::analyze {
namespace {

TEST(SourceFrame, WhatMakesDataReadyIsNoFramework) {
  const auto framework = [](const char* name) { return IsFrameworkFrame(ParseFrame(name)); };
  EXPECT_FALSE(framework("transformers/tokenization_utils_fast.py(550): _batch_encode_plus"));
  EXPECT_FALSE(framework("transformers/models/clip/image_processing_clip.py(204): preprocess"));
  EXPECT_FALSE(framework(
      "/v/lib/python3.11/site-packages/transformers/data/data_collator.py(271): __call__"));
  EXPECT_TRUE(framework("transformers/generation/utils.py(2215): generate"));
  EXPECT_TRUE(framework("transformers/models/llama/modeling_llama.py(700): forward"));
  EXPECT_TRUE(framework("torch/nn/modules/module.py(1773): _wrapped_call_impl"));
  EXPECT_FALSE(IsUserFrame(ParseFrame("transformers/tokenization_utils_fast.py(550): encode")));
}

}  // namespace
}  // namespace hone::analyze
