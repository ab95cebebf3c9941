"""A user's key names their place: no two pairs of tenant and user share one."""

import re

from hypothesis import assume, given
from hypothesis import strategies as st

from steeltrap.model import UserRef

# Characters that an encoding by separators or quotes would trip over.
IDS = st.text(st.sampled_from('abA/:#|\\"[], \n\0é語') | st.characters(exclude_categories=["Cs"]), max_size=12)


@given(IDS, IDS, IDS, IDS)
def test_two_pairs_never_share_a_key(tenant: str, user: str, other_tenant: str, other_user: str) -> None:
    assume((tenant, user) != (other_tenant, other_user))
    assert UserRef(user, tenant).key != UserRef(other_user, tenant=other_tenant).key


@given(st.lists(IDS, min_size=2, max_size=4), st.data())
def test_where_a_text_is_cut_into_tenant_and_user_matters(parts: list[str], data: st.DataObject) -> None:
    whole = "".join(parts)
    cuts = data.draw(st.lists(st.integers(0, len(whole)), unique=True, min_size=1, max_size=len(whole) + 1))
    keys = {UserRef(tenant=whole[:cut], user_id=whole[cut:]).key for cut in cuts}
    assert len(keys) == len(cuts)


@given(IDS, IDS)
def test_a_key_is_the_same_again_and_names_a_file_anywhere(tenant: str, user: str) -> None:
    key = UserRef(user, tenant).key
    assert key == UserRef(user, tenant).key
    assert re.fullmatch("[0-9a-f]{64}", key)
