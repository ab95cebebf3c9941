"""The dialects, each a thin toolset over the one engine: names, input models, limits, wording, rendering.

Nothing here has heard of AWS, HTTP or SQL. Importing the catalogue needs no environment and no adapter.
"""

from ..tools import Catalogue
from .associative import ASSOCIATIVE
from .categories import CATEGORIES
from .core import CORE
from .episodic import EPISODIC
from .notes import NOTES
from .records import RECORDS

CATALOGUE = Catalogue([CORE, NOTES, CATEGORIES, RECORDS, ASSOCIATIVE, EPISODIC])
