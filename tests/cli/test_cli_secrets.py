"""Secrets in what the command line imports and saves."""

import json

from secret_examples import card, pem, token


def messages(*texts):
    return json.dumps([{"role": "user", "content": text} for text in texts])


def stored(run):
    return [json.loads(line) for line in run("export", "-").stdout.splitlines()]


def test_an_import_says_what_it_replaced_and_can_be_repeated(run, tmp_path):
    path = tmp_path / "chat.json"
    path.write_text(messages(f"Deploys use {token()}.", f"Once more: {token()}", f"and {card()}."))
    (tmp_path / "notes.md").write_text(f"# Keys\n\n{pem()}\n")
    first = run("import", path)
    assert first.exit_code == 0, first.stderr
    assert "2 secrets were replaced: aws-access-token, card-number." in first.stdout
    assert "1 secret was replaced: private-key." in run("import", tmp_path / "notes.md").stdout
    again = json.loads(run("import", path, "--json").stdout)
    assert (again["written"], again["skipped"], again["secrets"]) == (0, 3, {"aws-access-token": 1, "card-number": 1})
    everything = str(stored(run))
    assert "Deploys use [redacted: aws-access-token]." in everything
    assert not any(secret in everything for secret in (token(), card(), pem().splitlines()[2]))


def test_an_import_may_refuse_messages_with_secrets_line_by_line(run, tmp_path, monkeypatch):
    monkeypatch.setenv("STEELTRAP_SECRETS", "refuse")
    path = tmp_path / "chat.json"
    path.write_text(messages("Fine.", f"Deploys use {token()}."))
    done = run("import", path, "--json")
    assert done.exit_code == 6
    told = json.loads(done.stdout)
    assert (told["written"], told["failed"]) == (1, 1)
    assert "has what looks like a secret (aws-access-token)" in told["errors"][0]["message"]
    assert token() not in done.stdout + done.stderr


def test_a_command_replaces_secrets_and_says_so_unless_the_setting_keeps_them(run, monkeypatch):
    done = run("remember", f"Deploys use {token()}.")
    assert done.exit_code == 0, done.stderr
    assert "1 secret was replaced: aws-access-token." in done.stderr
    assert token() not in str(stored(run))
    monkeypatch.setenv("STEELTRAP_SECRETS", "off")
    assert run("remember", f"Deploys use {token()}.").exit_code == 0
    assert token() in str(stored(run))
