"""Make the page anew."""

from tests.corpus import PAGE, page

PAGE.write_text(page())
