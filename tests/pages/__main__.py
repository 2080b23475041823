"""Opens every page of a fixed set of releases in Chromium, and says what is wrong with it; `make pages`.

    python -m tests.pages --axe node_modules/axe-core/axe.min.js --output pages

The output has the pages, and pictures of each at three widths, in light and dark, and on two sizes of paper. Read them:
no measurement finds an unclear sentence.
"""

import argparse
import shutil
import sys
from pathlib import Path

from playwright.sync_api import sync_playwright

from tests.pages.console import walked
from tests.pages.releases import make_pages
from tests.pages.seen import faults


def main() -> int:
    """Prints a line for each fault; 1 if there are any."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--axe", type=Path, required=True, help="axe.min.js of the npm package axe-core")
    parser.add_argument("--output", type=Path, required=True, help="a folder that is not there yet")
    parser.add_argument("--chromium", default=shutil.which("chromium"), help="Default: the one on the path.")
    asked = parser.parse_args()
    if asked.chromium is None:
        print("There is no Chromium: nothing was opened.")
        return 0
    asked.output.mkdir()
    pages = make_pages(asked.output.resolve())
    axe, found = asked.axe.read_text(encoding="utf-8"), 0
    with sync_playwright() as play:
        browser = play.chromium.launch(executable_path=asked.chromium, args=["--no-sandbox"])
        for path in pages:
            for fault in faults(browser, path, axe, asked.output):
                print(fault)
                found += 1
        for fault in walked(browser, axe, asked.output):
            print(fault)
            found += 1
        browser.close()
    print(f"{len(pages)} pages and those of the console, {found} faults")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
