"""The common story, through every library and every form of the client."""

import pytest

from integrations.seams import Seam
from integrations.story import LIBRARIES, STEPS, tell


@pytest.mark.parametrize("library", LIBRARIES)
def test_a_memory_is_saved_found_corrected_and_forgotten_for_one_user(library: str, seam: Seam) -> None:
    tell(LIBRARIES[library], seam)


def test_what_a_library_lacks_are_steps_of_the_story() -> None:
    for library in LIBRARIES.values():
        assert library.without < set(STEPS)
        assert not library.without & {"save", "find"}
