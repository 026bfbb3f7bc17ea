# SPDX-License-Identifier: Apache-2.0
"""Opens a report page as a browser does: the two scripts, and the columns of the rows."""

import array
import base64
import gzip
import json
import re
import sys
from html.parser import HTMLParser

NONE = 0xFFFFFFFF  # no row
TYPES = {"f64": ("d", 8), "u32": ("I", 4), "u8": ("B", 1)}


class _Scripts(HTMLParser):
    """The text of each <script id>, ended where HTML says that it ends."""

    def __init__(self):
        super().__init__()
        self.text, self.tags, self._open = {}, [], None

    def handle_starttag(self, tag, attributes):
        self.tags.append(tag)
        if tag == "script":
            self._open = dict(attributes).get("id")

    def handle_endtag(self, tag):
        if tag == "script":
            self._open = None

    def handle_data(self, data):
        if self._open:
            self.text[self._open] = self.text.get(self._open, "") + data


class Page:
    def __init__(self, path):
        with open(path, encoding="utf-8") as file:
            self.html = file.read()
        scripts = _Scripts()
        scripts.feed(self.html)
        self.tags = scripts.tags
        self.report_text = scripts.text["hone-report"]
        self.report = json.loads(self.report_text)
        self.page = self.report["page"]
        packed = scripts.text["hone-rows"]
        assert re.fullmatch(r"[A-Za-z0-9+/]*={0,2}", packed), "the rows are not plain base64"
        self.bytes = gzip.decompress(base64.b64decode(packed, validate=True))
        self.columns = {}
        for name, layout in self.page["timeline"]["columns"].items():
            code, size = TYPES[layout["type"]]
            column = array.array(code)
            assert layout["offset"] % 8 == 0, name
            column.frombytes(self.bytes[layout["offset"] : layout["offset"] + size * layout["count"]])
            if sys.byteorder != "little":
                column.byteswap()
            assert len(column) == layout["count"], name
            self.columns[name] = column

    @property
    def strings(self):
        return self.page["timeline"]["strings"]

    @property
    def lanes(self):
        return self.page["timeline"]["lanes"]
