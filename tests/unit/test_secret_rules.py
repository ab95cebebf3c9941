"""Secrets leave a text, and nothing else does."""

import json
import re
import tomllib
from itertools import pairwise
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from locks.gitleaks import compact

import made_up_secrets
from secret_examples import card, example, pem, token
from steeltrap.text.secrets import redacted
from steeltrap.text.secrets.patterns import Rule
from steeltrap.text.secrets.replacing import FILE, catalogue

RULES = catalogue().rules
HARMLESS = [
    line for line in (Path(__file__).parent / "harmless_texts.txt").read_text().splitlines() if line[:2] != "# "
]
PLACEHOLDER = re.compile(r"\[redacted: [a-z0-9-]+\]")
SHORT = "ghp_" + "Zx81Kq0wPv73Lm29Tt45Rr66Yy01Aa22Bb33"
LONG = ".".join(
    ["eyJ" + "hbGciOiJIUzI1NiJ9", "eyJ" + "zdWIiOiIxMjM0NTY3ODkwIn0", "dozjgNryP4J3jVmNHl0w5N_XgL0n3I9PlFUP0THsR8U"]
)
BYTES = 128 * 1024


def secret_of(rule: Rule, text: str) -> str:
    found = next(rule.find(text.encode()))
    return text.encode()[found.start : found.end].decode()


@pytest.mark.parametrize("rule", RULES, ids=lambda rule: rule.id)
def test_every_rule_replaces_an_example_of_its_kind(rule: Rule) -> None:
    for seed in range(3):
        text = example(rule, seed)
        found = redacted(text)
        assert secret_of(rule, text) not in found.text
        assert found.secrets
        assert redacted(found.text).text == found.text


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("The key is ", "."),
        ('{"key": "', '"}'),
        ('{"env": "A=', '\\nB=2"}'),
        ("```sh\nexport KEY=", "\n```\n"),
        ("`", "`"),
        ("/home/ana/", ".txt"),
        ("https://host.example/x?key=", "&page=2"),
        ("schlüssel: 鍵 ", " 鍵"),
        ("<td>", "</td>"),
    ],
)
def test_a_secret_is_replaced_wherever_it_stands_and_the_rest_stays(before: str, after: str) -> None:
    assert redacted(f"{before}{token()}{after}").text == f"{before}[redacted: aws-access-token]{after}"


@pytest.mark.parametrize("gap", ["\n", "\r\n", "\n    ", " \\\n  ", '"\n  "', '" +\n  "', "\n> "])
@pytest.mark.parametrize(("secret", "kind"), [(SHORT, "github-pat"), (LONG, "jwt")], ids=["short", "long"])
def test_a_token_that_is_broken_over_lines_is_one_secret(secret: str, kind: str, gap: str) -> None:
    middle = len(secret) // 2
    for torn in (f"{secret[:middle]}{gap}{secret[middle:]}", gap.join(re.findall(".{1,18}", secret))):
        assert redacted(f"It is\n{torn}\nand no more.").text == f"It is\n[redacted: {kind}]\nand no more."


def test_a_line_behind_a_token_stays() -> None:
    for line in ("The next line.", "2026-11-23 was the day.", "understanding", "ab12"):
        assert redacted(f"sk_live_{'4eC39HqLyjWDarjt'}\n{line}").text == f"[redacted: stripe-access-token]\n{line}"
    assert redacted(f"{SHORT}\n{SHORT}").text == "[redacted: github-pat]\n[redacted: github-pat]"


@pytest.mark.parametrize("name", ["PRIVATE KEY", "RSA PRIVATE KEY", "OPENSSH PRIVATE KEY", "PGP PRIVATE KEY BLOCK"])
@pytest.mark.parametrize("line", ["\n", "\r\n", "\\n", "\\\\n", "\n    ", "\n> ", '\\n" +\n"', " "])
def test_a_private_key_is_replaced_whole_and_where_it_is_cut_off(name: str, line: str) -> None:
    whole = pem(name=name).replace("\n", line)
    body = whole.split("-----")[2]
    assert redacted(f"a {whole} b").text == "a [redacted: private-key] b"
    for kept in (0.3, 0.6, 0.9):
        start = redacted(f"a {whole[: int(len(whole) * kept)]}").text
        end = redacted(f"{whole[int(len(whole) * (1 - kept)) :]} b").text
        assert start.startswith("a [redacted: private-key]")
        assert end.endswith("[redacted: private-key] b")
        for left in (start, end):
            assert not any(piece in left for piece in re.findall(r"[A-Za-z0-9+/]{40}", body))


def test_several_private_keys_are_told_apart_and_the_prose_between_them_stays() -> None:
    cut = pem().rpartition("\n")[0]
    text = f"{pem()}\nfirst\n{cut}\n\nThe second was cut off here.\n{pem(name='EC PRIVATE KEY')}\nlast"
    assert redacted(text).text == (
        "[redacted: private-key]\nfirst\n[redacted: private-key]\n\nThe second was cut off here.\n"
        "[redacted: private-key]\nlast"
    )


@pytest.mark.parametrize(
    "number",
    [
        "4242424242424242",
        "4111 1111 1111 1111",
        "5555-5555-5555-4444",
        "5555 5555\n5555 4444",
        "2223003122003222",
        "3782 822463 10005",
        "378282246310005",
        "6011 1111 1111 1117",
        "3566002020360505",
        "3056 930902 5904",
        "6200 0000 0000 0005",
    ],
)
def test_a_card_number_is_replaced(number: str) -> None:
    for before, after in (("My card is ", ", it expires 12/29"), ("", ""), ('{"card":"', '"}'), ("ana,", ",12/29")):
        assert redacted(f"{before}{number}{after}").text == f"{before}[redacted: card-number]{after}"


@pytest.mark.parametrize(
    "text",
    [
        "4242 4242 4242 4241",  # not valid
        "order 4242424242424242",
        "Tracking number: 4242424242424242",
        "IMEI 490154203237518",
        "DE12 4242 4242 4242 4242 00",
        "https://host.example/4242424242424242",
        "0.4242424242424242",
        "a4242424242424242",
        "42424242424242421234567",
    ],
)
def test_a_number_that_is_something_else_stays(text: str) -> None:
    assert redacted(text).text == text


def test_an_order_paid_by_card_hides_the_card() -> None:
    assert redacted("order 17, card 4242424242424242").text == "order 17, card [redacted: card-number]"


@pytest.mark.parametrize(
    ("text", "left"),
    [
        ("postgres://ana:s3cr3tpw@db.local/x", "postgres://ana:[redacted: url-password]@db.local/x"),
        ('"password": "hunter22x",', '"password": "[redacted: password]",'),
        ("DB_PASSWORD=S3cr3tpass!\n", "DB_PASSWORD=[redacted: password]\n"),
        ("passphrase: 'blue42sky'", "passphrase: '[redacted: password]'"),
    ],
)
def test_a_password_in_a_url_or_a_file_of_settings_is_replaced(text: str, left: str) -> None:
    assert redacted(text).text == left


@pytest.mark.parametrize("name", ["api_key", "API-KEY", "client_secret", "db_password", "authToken"])
def test_the_key_of_an_object_says_what_its_value_is(name: str) -> None:
    value = "q8Rk2Lw9Zp4Xv7Tn1Bm6"
    assert redacted(value).text == value
    assert PLACEHOLDER.fullmatch(redacted(value, name).text)
    assert redacted(value, "title").text == value


def test_a_uuid_or_a_hash_is_a_secret_only_where_it_is_called_one() -> None:
    uuid, commit = "7c1d2e3f-4a5b-4c6d-8e7f-9a0b1c2d3e4f", "4f3c2a1b9d8e7f6a5b4c3d2e1f0a9b8c7d6e5f4a"
    for value in (uuid, commit):
        for name in ("cache_key", "primary key", "commit", "token"):
            assert redacted(f'{name}: "{value}"').text == f'{name}: "{value}"'
        for name in ("client_secret", "api_key", "auth_token"):
            assert value not in redacted(f'{name}: "{value}"').text


@pytest.mark.parametrize("text", HARMLESS)
def test_what_only_looks_like_a_secret_stays(text: str) -> None:
    assert redacted(text).text == text


def test_there_are_a_thousand_harmless_texts_of_many_sorts() -> None:
    assert len(set(HARMLESS)) >= 1000
    assert (Path(__file__).parent / "harmless_texts.txt").read_text().count("\n# ") >= 15


def test_of_a_hundred_made_up_secrets_as_people_write_them_none_is_stored() -> None:
    told = made_up_secrets.secrets()
    raw = [text for text, secret in told if secret in redacted(text).text]
    assert raw == []
    assert len({text for text, _ in told}) >= 96


@pytest.mark.parametrize(("text", "secret"), made_up_secrets.stored_raw())
def test_what_the_documentation_says_is_not_found_is_not(text: str, secret: str) -> None:
    """If one is found by now, docs/secrets.md is out of date."""
    assert secret in redacted(text).text


def test_the_line_after_a_named_secret_stays() -> None:
    for line in ("port2: 5432", "DB_URL_V2=jdbc:h2:mem7", "next4: x9y8z7w6v5"):
        assert redacted(f"password: hunter22x\n{line}").text == f"password: [redacted: password]\n{line}"


@pytest.mark.parametrize(
    ("text", "left"),
    [
        ("NO93 8601 1117 947 PAID NOW", "[redacted: iban] PAID NOW"),
        ("BE68 5390 0754 7034 PAID", "[redacted: iban] PAID"),
        ("DE89-3704-0044-0532-0130-00.", "[redacted: iban]."),
        ("DE89 3704 0044 0532 0130 01", "DE89 3704 0044 0532 0130 01"),
        ("DE89370400440532013000X", "DE89370400440532013000X"),
    ],
)
def test_an_account_number_is_replaced_where_its_check_digits_hold(text: str, left: str) -> None:
    assert redacted(text).text == left


SECRETS = st.sampled_from([token(), SHORT, LONG, pem(), card(), "postgres://ana:s3cr3tpw@db.local/x"])
TEXTS = st.lists(st.one_of(st.text(max_size=40), st.sampled_from(HARMLESS), SECRETS), max_size=6).map(" ; ".join)


@given(TEXTS)
def test_redacting_again_changes_nothing_and_all_else_stays_in_its_order(text: str) -> None:
    left = redacted(text).text
    assert redacted(left).text == left
    pieces = PLACEHOLDER.split(left)
    at = [0]
    for piece in pieces:
        at.append(text.index(piece, at[-1]) + len(piece))
    assert text.startswith(pieces[0])
    assert text.endswith(pieces[-1])
    assert all(start <= end for start, end in pairwise(at))


def test_half_a_character_is_left_to_who_refuses_it() -> None:
    assert redacted("\ud800 " + token()).text == "\ud800 " + token()


@pytest.mark.parametrize(
    "piece",
    [
        "-----BEGIN " + "PRIVATE KEY-----",
        "-----END " + "PRIVATE KEY-----",
        "-----BEGIN " + "PRIVATE KEY-----" + "A" * 20 + " ",
        "4111 ",
        "4111\n",
        "4242 4242 4242 4242 ",
        "key=a8Kd93kLs02mZq ",
        'password="a1',
        "a1b2\n",
        "://a:",
        "kind: secret\ndata: a: aaaaaaaaaaaa\n",
        "password is a1 ",
        "my password: ",
        "密码是a1",
        "AKIA" + "QYLPMN5HNM3ZFOPA ",
        "DE89 3704 0044 0532 0130 00 ",
        "DE89 3704 ",
        "a\\_",
        "a\u200bb",
        'a" + "b',
        "sk-a1-",
        "?sig=a1",
        "use a1b2c3 as the ",
        "login: a:a1 ",
        "<token>a1b2c3",
        "password for a b c ",
        "a:5432:b:c:",
        "[redacted: password] key=",
        " ".join(keyword for rule in RULES for keyword in rule.keywords) + " = ",
    ],
    ids=lambda piece: repr(piece[:20]),
)
def test_a_hostile_text_of_128_kb_is_answered(piece: str) -> None:
    """Each of these takes minutes where a step looks at the rest of the text once for each piece."""
    text = (piece * (BYTES // len(piece) + 1))[:BYTES]
    left = redacted(text).text
    assert redacted(left).text == left


def test_only_what_a_text_has_words_of_is_looked_for() -> None:
    assert catalogue().needed(b"The user is vegetarian and lives in Faro.") == ([], set())
    rules, kinds = catalogue().needed(b"the GitHub token ghp_ and 4242 4242 4242 4242")
    assert {"github-pat", "generic-api-key"} <= {rule.id for rule in rules}
    assert len(rules) < 10
    assert kinds == {"card-number"}


def test_the_rules_name_their_release_and_their_licence_is_beside_them() -> None:
    given = json.loads(FILE.read_text())
    assert re.fullmatch(r"v\d+\.\d+\.\d+", given["version"])
    assert "MIT License" in (FILE.parent / "LICENSE.gitleaks").read_text()
    assert len(given["rules"]) > 200
    assert len({rule.id for rule in RULES}) == len(RULES)


def test_a_rule_of_gitleaks_is_taken_over_with_what_a_memory_has() -> None:
    config = tomllib.loads(
        """
        [allowlist]
        paths = ['x']
        stopwords = ["abc"]
        [[rules]]
        id = "one"
        description = "One."
        regex = 'one_([a-z]+)'
        entropy = 3.5
        keywords = ["ONE_"]
        [[rules.allowlists]]
        condition = "AND"
        paths = ['y']
        regexes = ['z']
        [[rules.allowlists]]
        regexTarget = "line"
        regexes = ['harmless']
        [[rules]]
        id = "file"
        path = 'p12'
        [[rules]]
        id = "private-key"
        regex = 'BEGIN'
        keywords = ["begin"]
        """
    )
    one = {"id": "one", "regex": "one_([a-z]+)", "keywords": ["one_"], "entropy": 3.5}
    allowed = [{"regexes": ["harmless"], "target": "line"}]
    assert compact(config) == {"allow": {"stopwords": ["abc"]}, "rules": [one | {"allow": allowed}]}
