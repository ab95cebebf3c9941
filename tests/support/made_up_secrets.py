"""Made-up secrets as people write them into notes: each is put together when a test runs, so that this repository holds
none."""

import base64
import random
import string
from typing import Final

HEX: Final = "0123456789abcdef"
ALNUM: Final = string.ascii_letters + string.digits
URL: Final = ALNUM + "-_"
B64: Final = ALNUM + "+/"
UPPER: Final = string.ascii_uppercase + string.digits

_TOKENS: Final = [
    # (how it is said, prefix, length of what follows, of which letters)
    ("The steeltrap key is {}.", "stk_" + "0a1b2c3d4e5f_", 43, URL),
    ("Claude Code logs in with {} here", "sk-ant-" + "oat01-", 95, URL),
    ("refresh: {}", "sk-ant-" + "ort01-", 95, URL),
    ("cookie sessionKey={}", "sk-ant-" + "sid01-", 86, URL),
    ("OPENAI_API_KEY={}", "sk-" + "proj-", 74, URL),
    ("we use {} for the batch", "sk-" + "svcacct-", 74, URL),
    ("deepseek: {}", "sk-", 32, HEX),
    ("OpenRouter {}", "sk-or-" + "v1-", 64, HEX),
    ("The webhook is signed with {}", "whsec_", 32, ALNUM),
    ("Stripe live {}", "rk_" + "live_", 24, ALNUM),
    ("gcloud printed {}", "ya29.", 120, URL),
    ("refresh token {}", "1//" + "0g", 60, URL),
    ("client secret {}", "GOCSPX-", 28, URL),
    ("docker login -p {}", "dckr_" + "pat_", 27, URL),
    ("org token {}", "dckr_" + "oat_", 32, URL),
    ("Notion: {}", "ntn_", 46, ALNUM),
    ("old Notion {}", "secret_", 43, ALNUM),
    ("Groq {}", "gsk_", 52, ALNUM),
    ("Replicate {}", "r8_", 37, ALNUM),
    ("hf {}", "hf_", 34, string.ascii_letters),
    ("xai {}", "xai-", 80, ALNUM),
    ("perplexity {}", "pplx-", 48, ALNUM),
    ("Tavily {}", "tvly-" + "dev-", 32, ALNUM),
    ("Firecrawl {}", "fc-", 32, HEX),
    ("Jina {}", "jina_", 60, URL),
    ("Voyage {}", "pa-", 43, URL),
    ("Fireworks {}", "fw_", 24, ALNUM),
    ("Cerebras {}", "csk-", 48, ALNUM),
    ("ElevenLabs {}", "sk_", 48, HEX),
    ("E2B {}", "e2b_", 40, HEX),
    ("LangSmith {}", "lsv2_" + "pt_", 43, HEX),
    ("mem0 {}", "m0-", 40, ALNUM),
    ("Zep {}", "z_" + "1dWlkIjoi", 80, ALNUM),
    ("Letta {}", "sk-" + "let-", 60, ALNUM),
    ("Hindsight {}", "hsk_", 48, ALNUM),
    ("Supermemory {}", "sm_", 60, ALNUM),
    ("Pinecone {}", "pcsk_", 70, ALNUM + "_"),
    ("Langfuse {}", "sk-" + "lf-4f3c2a1b-", 24, HEX),
    ("Turbopuffer {}", "tpuf_", 40, ALNUM),
    ("Resend {}", "re_" + "Ab3dEf7h_", 24, ALNUM),
    ("Supabase {}", "sbp_", 40, HEX),
    ("Supabase {}", "sb_" + "secret_", 31, URL),
    ("Neon {}", "napi_", 60, ALNUM.lower()),
    ("Vercel {}", "vercel_" + "blob_rw_", 40, ALNUM),
    ("Figma {}", "figd_", 40, URL),
    ("PostHog {}", "phx_", 43, ALNUM),
    ("Discord bot {}", "MTA5NzU2" + "NjQ0ODc5NzE5NTMx.GhT3kq.", 38, URL),
    ("Bitbucket {}", "ATBB", 32, ALNUM),
    ("GitHub {}", "github_" + "pat_", 82, ALNUM + "_"),
    ("GitHub {}", "ghp_", 36, ALNUM),
    ("GitLab {}", "glpat-", 20, URL),
    ("npm {}", "npm_", 36, ALNUM),
    ("crates.io {}", "cio", 32, ALNUM),
    ("Slack {}", "xoxb-" + "123456789012-123456789012-", 24, ALNUM),
    ("Slack browser {}", "xoxd-", 80, ALNUM),
    ("Telegram {}", "110201543:AA", 33, URL),
    ("SendGrid {}", "SG." + "ngeVfQFYQlKU0ufo8x5d1A.", 43, URL),
    ("Airtable {}", "pat" + "Qy8K3mWx2LpZ4v.", 64, HEX),
    ("tailscale {}", "tskey-" + "auth-k3J9CNTRL-", 32, ALNUM),
    ("Google {}", "AIza", 35, URL),
    ("JWT {}", "eyJhbGciOiJIUzI1NiJ9.eyJ" + "zdWIiOiIxMjM0NTY3ODkwIn0.", 43, URL),
    ("AWS {}", "ASIA", 16, string.ascii_uppercase + "234567"),
    ("mailgun {}", "key-", 32, HEX),
    ("Shopify {}", "shpat_", 32, HEX),
    ("PyPI {}", "pypi-" + "AgEIcHlwaS5vcmc", 60, ALNUM),
    ("https://hooks.slack.com/services/{}", "T0AB12CD3/" + "B0AB12CD3/", 24, ALNUM),
    ("https://discord.com/api/webhooks/{}", "123456789012345678/", 68, URL),
    ("DigitalOcean {}", "dop_" + "v1_", 64, HEX),
    ("FlyV1 {}", "fm2_", 80, ALNUM),
    ("Mapbox {}", "sk.eyJ1" + "IjoiYW5hIn0.", 22, URL),
    ("Vault {}", "hvs.", 90, URL),
    ("Linear {}", "lin_" + "api_", 40, ALNUM),
    ("Databricks {}", "dapi", 32, HEX),
    ("New Relic {}", "NRAK-", 27, UPPER),
    ("Stripe test {}", "sk_" + "test_", 24, ALNUM),
    ("OpenAI {}", "sk-", 48, ALNUM),
    ("Honcho {}", "hch-" + "v3-", 60, ALNUM),
]

_NAMED: Final = [
    # what is named in the text, and what the name is of
    ("https://acct.blob.core.windows.net/c?sv=2022-11-02&sp=r&sig={}%3D", 43, B64.replace("+", "").replace("/", "")),
    ("DefaultEndpointsProtocol=https;AccountName=a;AccountKey={}==;EndpointSuffix=x", 86, B64),
    ("Endpoint=sb://x.servicebus.windows.net/;SharedAccessKeyName=root;SharedAccessKey={}=", 43, B64),
    ("https://b.s3.amazonaws.com/x?X-Amz-Expires=60&X-Amz-Signature={}", 64, HEX),
    ("Authorization: Bearer {}", 40, ALNUM),
    ('-H "Authorization: Token {}"', 40, HEX),
    ("X-Api-Key: {}", 32, ALNUM),
    ("export API_TOKEN={}", 24, ALNUM),
    ("export API_TOKEN='{}'", 16, ALNUM),
    ("STRIPE_SECRET={}", 20, ALNUM),
    ("SECRET_KEY = '{}'", 50, ALNUM),
    ("api_key: {}", 32, ALNUM),
    ("the API key is {}", 32, ALNUM),
    ("Der API-Schlüssel lautet {}", 32, ALNUM),
    ("La clave de API es {}", 32, ALNUM),
    ("APIキーは{}です", 32, ALNUM),
    ("aws_secret_access_key = {}", 40, B64),
    ("AKIA" + "QYLPMN5HNM3ZFOPA {}", 40, B64),
    ("id,secret\nAKIA" + "QYLPMN5HNM3ZFOPA,{}", 40, B64),
    ("otpauth://totp/acme:ana?secret={}&issuer=acme", 32, string.ascii_uppercase + "234567"),
    ("https://x.example/cb?access_token={}&x=1", 32, ALNUM),
    ("PrivateKey = {}=", 43, B64),
    ("machine h login ana password {}", 14, ALNUM),
    ("//registry.npmjs.org/:_authToken={}", 36, ALNUM),
    ("curl --token {} https://x.example", 30, ALNUM),
    ("DD_API_KEY={}", 32, HEX),
    ("SECRET_KEY_BASE={}", 128, HEX),
    ("JWT_SECRET: {}", 32, ALNUM),
    ("X-Auth-Token: {}", 32, ALNUM),
    ("the token is {}", 40, ALNUM),
    ("my github token: {}", 40, HEX),
    ("bot_token = '{}'", 46, ALNUM),
    ("export GITHUB_PAT={}", 40, HEX),
    ("setx API_KEY {}", 32, ALNUM),
    ("set OPENAI_KEY {}", 48, ALNUM),
    ('"token":"{}"', 40, ALNUM),
    ("refresh_token={}", 40, ALNUM),
    ("WPA2 key: {}", 12, ALNUM),
]

_PASSWORDS: Final = [
    # as people write them
    ("password: {}", "hunter22x"),
    ("db:\n  user: ana\n  password: {}\n", "Tr0ub4dor3"),
    ("  pwd: {}", "s3cr3tpw"),
    ("My password is {}.", "blue42sky"),
    ("The wifi password is {}", "guest-7788-net"),
    ("Das Passwort lautet {}", "Sommer2026"),
    ("Passwort: {}", "Sommer2026"),
    ("Kennwort ist {}", "Winter1999"),
    ("La contraseña es {}", "verano2026"),
    ("Le mot de passe est {}", "soleil2026"),
    ("mot de passe : {}", "soleil2026"),
    ("A senha é {}", "praia2026"),
    ("La password è {}", "mare2026x"),
    ("Het wachtwoord is {}", "zomer2026"),
    ("Hasło: {}", "lato2026x"),
    ("Пароль: {}", "leto2026x"),
    ("密码是{}", "xiatian2026"),
    ("パスワードは{}です", "natsu2026"),
    ("비밀번호: {}", "yeoreum2026"),
    ('"password": "{}"', "hunter22x"),
    ('{{\\"password\\": \\"{}\\"}}', "hunter22x"),
    ("mysql --password={} -u root", "hunter22x"),
    ("mysql --password {} -u root", "hunter22x"),
    ("PGPASSWORD={} psql", "hunter22x"),
    ("postgres://ana:{}@db.local/x", "p@ss4word"),
    ("redis://:{}@cache.local", "hunter22x"),
    ("jdbc:x://h/d?user=a&password={}", "hunter22x"),
    ("<password>{}</password>", "hunter22x"),
    ("localhost:5432:db:ana:{}", "hunter22x"),
    ('ConvertTo-SecureString "{}"', "P@ssw0rd77"),
    ("Server=h;User Id=a;Password={};", "hunter22x"),
    ("requirepass {}", "foobar22x"),
    ("CREATE USER ana IDENTIFIED BY '{}'", "hunter22x"),
    ("sshpass -p {} ssh host", "hunter22x"),
    ("curl -u ana:{} https://x.example", "hunter22x"),
    ("export DB_PASS={}", "hunter22x"),
    ("ENV MYSQL_ROOT_PASSWORD {}", "hunter22x"),
    ("pass: {}", "hunter22x"),
    ("pw: {}", "hunter22x"),
    ("login: ana / {}", "hunter22x"),
    ("user/pass: ana/{}", "hunter22x"),
    ("credentials: ana:{}", "hunter22x"),
    ("Zugangscode: {}", "hunter22x"),
    ("Password is: {}", "hunter22x"),
    ("the root password for db1 is {}", "hunter22x"),
    ("password for staging: {}", "hunter22x"),
    ("password → {}", "hunter22x"),
    ("(password {})", "hunter22x"),
    ("password '{}'", "hunter22x"),
    ("use {} as the password", "hunter22x"),
    ("My password's {}", "hunter22x"),
    ("passwort {}", "hunter22x"),
]


def _random(seed: str, length: int, letters: str) -> str:
    made = random.Random(seed)
    while True:
        text = "".join(made.choices(letters, k=length))
        kinds = [any(letter in kind for letter in text) for kind in (string.digits, string.ascii_letters)]
        if letters == string.ascii_letters or all(kinds):
            return text


def _basic() -> str:
    return base64.b64encode(b"ana:hunter22x").decode()


def _escaped(secret: str) -> list[tuple[str, str]]:
    prefix, rest = secret[:4], secret[4:]
    markdown, zero_width = secret.replace("_", "\\_"), f"{prefix}\u200b{rest}"
    return [
        (f"token {markdown}", rest),
        (f"token {zero_width}", rest),
        (f'key = "{prefix}" + "{rest}"', rest),
        (f"The token is\n  {secret[:20]}\n  {secret[20:]}", secret[20:]),
    ]


def secrets() -> list[tuple[str, str]]:
    """Texts, and the part of each that must not be stored."""
    made = []
    for said, prefix, length, letters in _TOKENS:
        rest = _random(said + prefix, length, letters)
        made.append((said.format(prefix + rest), rest))
    for said, length, letters in _NAMED:
        rest = _random(said, length, letters)
        made.append((said.format(rest), rest))
    made += [(said.format(secret), secret) for said, secret in _PASSWORDS]
    made.append((f"Authorization: Basic {_basic()}", _basic()))
    made += _escaped("ghp_" + _random("escaped", 36, ALNUM))
    made += [("IBAN DE89 3704 0044 0532 0130 00", "0532 0130"), ("pay to GB29NWBK60161331926819", "60161331926819")]
    return made


def stored_raw() -> list[tuple[str, str]]:
    """The secrets that docs/secrets.md says aren't found."""
    return [
        ("The alarm code is 4711.", "4711"),
        ("My password is bluebird.", "bluebird"),
        ("The key, in base64: " + base64.b64encode(b"hunter22x and more of it").decode(), "aHVudGVy"),
        ("It is h u n t e r 2 2 x with spaces.", "h u n t e r"),
        ("Recovery codes: a1b2-c3d4, e5f6-g7h8", "a1b2-c3d4"),
        ("Seed phrase: legal winner thank year wave sausage worth useful legal winner thank yellow", "sausage"),
    ]
