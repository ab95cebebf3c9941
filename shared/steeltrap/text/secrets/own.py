"""The rules that gitleaks doesn't have, or has for one type of file only.

Three sorts: tokens that begin with the mark of a service, values that a text or a file of settings gives a secret's
name, and passwords, which people also write into sentences, in their own language.
"""

from dataclasses import replace
from typing import Final

from .patterns import Allow, Rule

PLACEHOLDERS: Final = Allow(
    regexes=(
        r"^[<\[{$%*.]|^[xX]+$|\*\*\*|\.\.\.",
        r"(?i)^(?:user|pass|password|passwd|pwd|secret|token|changeme|change[_-]?it|test|example)\d{0,4}$",
        r"(?i)your|example|placeholder|redacted|dummy|(?:change|replace)[_-]?me|insert|xxxx|1234567890abcdef",
        r"(?i)^(?:os|process|env|environ|settings|config|self|this|import\.meta|secrets|vars?)\.",
    )
)
_NO_DIGIT: Final = Allow(regexes=(r"^\D+$",))
_WORD: Final = r"(?:[A-Za-z]{1,20}\d{0,4}|\d{1,4})"
_WORDS: Final = Allow(regexes=(rf"^[-_./]*(?:{_WORD}[-_./]+)*{_WORD}$",))
"""A name that is made of words, such as `sk-learn-contrib-2`."""
_PLACES: Final = Allow(regexes=(r"^(?:~|\.{0,2})/|^[A-Za-z]:\\|://|^file:",))


def _token(id: str, *patterns: str, keywords: tuple[str, ...]) -> Rule:
    """A rule for random values that follow a service's own marks."""
    regex = rf"(?:^|[^A-Za-z0-9_-])((?:{'|'.join(patterns)}))"
    return Rule(id=id, regex=regex, keywords=keywords, entropy=3, allow=(PLACEHOLDERS, _NO_DIGIT, _WORDS))


_RANDOM: Final = r"[A-Za-z0-9_-]"
_TOKENS: Final = (
    _token("steeltrap-api-key", rf"stk_[0-9a-f]{{12}}_{_RANDOM}{{43}}", keywords=("stk_",)),
    _token("anthropic-token", rf"sk-ant-[a-z]{{2,8}}\d\d-{_RANDOM}{{20,}}", keywords=("sk-ant-",)),
    _token("stripe-webhook-secret", r"whsec_[A-Za-z0-9+/]{24,}={0,2}", keywords=("whsec_",)),
    _token("google-oauth-token", r"ya29\.[A-Za-z0-9_.-]{20,}", rf"1//0{_RANDOM}{{30,}}", keywords=("ya29.", "1//0")),
    _token("google-client-secret", rf"GOCSPX-{_RANDOM}{{20,}}", keywords=("gocspx-",)),
    _token("docker-token", rf"dckr_[op]at_{_RANDOM}{{20,}}", keywords=("dckr_",)),
    _token("notion-token", r"ntn_[A-Za-z0-9]{30,}", r"secret_[A-Za-z0-9]{40,}", keywords=("ntn_", "secret_")),
    _token(
        "discord-token", rf"[MNO][A-Za-z0-9_-]{{22,30}}\.{_RANDOM}{{6}}\.{_RANDOM}{{27,}}", keywords=("discord", "bot")
    ),
    _token("telegram-token", rf"[0-9]{{8,10}}:AA{_RANDOM}{{32,}}", keywords=(":aa",)),
    _token("bitbucket-token", r"ATBB[A-Za-z0-9]{28,}", keywords=("atbb",)),
    _token("crates-token", r"cio[A-Za-z0-9]{32}", keywords=("cio",)),
    _token("slack-cookie", r"xox[cd]-[A-Za-z0-9%_/+-]{20,}", keywords=("xoxc-", "xoxd-")),
    _token("wandb-token", r"wandb_v1_[A-Za-z0-9_]{20,}", keywords=("wandb_v1_",)),
    # OpenAI, DeepSeek, OpenRouter, LiteLLM, Langfuse, Letta and others
    _token("sk-api-key", rf"sk-(?:[a-z0-9]{{2,10}}-){{0,3}}{_RANDOM}{{20,}}", keywords=("sk-",)),
    _token(
        "ai-service-key",
        r"(?:gsk_|r8_|xai-|fw_|csk-|e2b_|hsk_|pcsk_|tpuf_|hch-|nvapi-|pplx-|jina_|tgp_v1_|m0-|z_|sm_|mem_)[A-Za-z0-9_.-]{24,}",
        r"(?:fc-|sk_)[0-9a-f]{32,}",
        rf"(?:tvly|pa|lsv2_pt|lsv2_sk|lsv2)[-_]{_RANDOM}{{24,}}",
        keywords=(
            "gsk_",
            "r8_",
            "xai-",
            "fw_",
            "csk-",
            "e2b_",
            "hsk_",
            "pcsk_",
            "tpuf_",
            "hch-",
            "nvapi-",
            "pplx-",
            "jina_",
            "tgp_v1_",
            "m0-",
            "z_",
            "sm_",
            "mem_",
            "fc-",
            "sk_",
            "tvly-",
            "pa-",
            "lsv2_",
        ),
    ),
    _token(
        "service-token",
        rf"(?:sbp_|sb_secret_|napi_|vercel_blob_rw_|vcp_|figd_|ph[xc]_|rnd_|lin_oauth_|fo1_|hvs\.|HRKU-){_RANDOM}{{24,}}",
        r"re_[A-Za-z0-9]{8}_[A-Za-z0-9]{20,}",
        r"key-[0-9a-f]{32}",
        rf"sk\.eyJ{_RANDOM}{{10,}}\.{_RANDOM}{{20,}}",
        r"(?:fm1[ar]|fm2)_[A-Za-z0-9+/=_-]{40,}",
        r"NRAK-[A-Z0-9]{27}",
        rf"tskey-[a-z]{{3,10}}-{_RANDOM}{{20,}}",
        r"key-[0-9a-f]{32}",
        rf"sk\.eyJ{_RANDOM}{{10,}}\.{_RANDOM}{{20,}}",
        r"(?:fm1[ar]|fm2)_[A-Za-z0-9+/=_-]{40,}",
        r"NRAK-[A-Z0-9]{27}",
        keywords=(
            "sbp_",
            "sb_secret_",
            "napi_",
            "vercel_",
            "vcp_",
            "figd_",
            "phx_",
            "phc_",
            "rnd_",
            "lin_oauth_",
            "fo1_",
            "hvs.",
            "hrku-",
            "re_",
            "tskey-",
            "key-",
            "sk.eyj",
            "fm1",
            "fm2_",
            "nrak-",
        ),
    ),
)

# Between a name and its value: a colon, an equals sign, or a verb; in JSON with quotes, which may be escaped.
_SIGN: Final = r"""\\{0,3}["'`]?\s{0,3}(?:=>|:=|->|=|:|：)\s{0,3}\\{0,3}"""
_VERB: Final = (
    r"[ ]{1,2}(?:is|ist|lautet|es|est|é|è|jest|to|on|är|er|ist jetzt|is now|vaut|sunt|este)[ ]{0,2}:?[ ]{1,2}"
    r"|['’]s[ ]|\s{0,2}(?:→|–|—)\s{0,2}"
)
_PARTICLE: Final = r"\s{0,2}(?:は|是|为|為|은|는|：)[ ]?"
_VALUE: Final = r"[A-Za-z0-9_+/=.~%-]"
_KEY_NAMES: Final = (
    r"(?:api|access|auth|secret|private|bearer|refresh|signing|client|session|service|app)[ _-]?(?:key|token|secret)"
    r"|api[ _-]?(?:schlüssel|ключ|キー|密钥|密鑰|키|sleutel|nyckel|klucz)"
    r"|(?:clave|chave|clé|chiave)(?: de| d'| di| da)? ?(?:api|acceso|accès|acesso|accesso)|ключ api|密钥|密鑰"
)
_SERVICES: Final = (
    r"(?:github|gitlab|bitbucket|npm|pypi|slack|discord|telegram|openai|anthropic|claude|gemini|mistral|groq|cohere"
    r"|hugging ?face|notion|linear|jira|stripe|twilio|sendgrid|cloudflare|heroku|vercel|netlify|supabase|datadog"
    r"|sentry|aws|azure|gcp|bot|deploy|mem0|zep|letta|pinecone|langfuse|admin|root|prod|production|staging)"
    r"[ _-](?:token|key|secret|pat)"
)
_NAMED: Final = (
    Rule(
        id="url-password",
        # postgres://user:PASSWORD@host, where the password may have an @ of its own
        regex=r"""\b[A-Za-z][A-Za-z0-9+.-]{1,30}://[^\s/@:'"<>]{0,100}:([^\s/'"<>]{3,200})@[\w\[]""",
        keywords=("://",),
        allow=(PLACEHOLDERS,),
    ),
    Rule(
        id="url-secret",
        # what signs or opens an address: SAS, presigned addresses of S3, tokens in a query, seeds of one-time passwords
        regex=r"(?i)[?&;](?:sig|signature|x-amz-signature|x-amz-security-token|x-goog-signature|(?:access_|auth_|id_|refresh_)?"
        r"token|api_?key|secret|client_secret)=([A-Za-z0-9%_.~+/-]{16,})",
        keywords=("sig=", "signature=", "token=", "key=", "secret="),
        entropy=3,
        allow=(PLACEHOLDERS, _NO_DIGIT, _WORDS),
    ),
    Rule(
        id="webhook",
        regex=r"(?i)(?:discord(?:app)?\.com/api/webhooks/\d+|\.webhook\.office\.com/webhookb2/[^\s/]{10,100})"
        rf"/({_RANDOM}{{40,}})",
        keywords=("webhook",),
        entropy=3,
    ),
    Rule(
        id="azure-key",
        regex=r"(?i)(?:AccountKey|SharedAccessKey)=([A-Za-z0-9+/]{43,88}={0,2})",
        keywords=("accountkey=", "sharedaccesskey="),
        entropy=3,
    ),
    Rule(
        id="aws-secret-key",
        # which has no mark of its own, beside the id of its key
        regex=r"(?:AKIA|ASIA)[A-Z2-7]{16}(?s:[^A-Za-z0-9/+].{0,80}?)?[^A-Za-z0-9/+]([A-Za-z0-9/+]{40})(?:[^A-Za-z0-9/+]|\z)",
        keywords=("akia", "asia"),
        entropy=3,
        allow=(Allow(regexes=(r"^[0-9a-f]{40}$",)),),
    ),
    Rule(
        id="authorization",
        regex=r"""(?i)\bauthorization\\{0,3}["']?\s{0,3}[:=]\s{0,3}\\{0,3}["']?"""
        r"(?:(?:basic|bearer|token|apikey)[ ]{1,3})?([A-Za-z0-9_.~+/-]{8,}={0,2})",
        keywords=("authorization",),
        entropy=2.5,
        allow=(PLACEHOLDERS, _NO_DIGIT, _WORDS),
    ),
    Rule(
        id="bearer-token",
        regex=r"(?i)\b(?:basic|bearer)[ ]{1,3}([A-Za-z0-9_.~+/-]{12,}={0,2})",
        keywords=("basic ", "bearer "),
        entropy=3,
        allow=(
            PLACEHOLDERS,
            _NO_DIGIT,
            _WORDS,
            _PLACES,
            Allow(regexes=(r"^[0-9a-f-]{36}$|^[0-9a-f]{40}$|^v?[\d.]+$",)),
        ),
    ),
    Rule(
        id="named-secret",
        # "the API key is KEY", in prose and in other languages
        regex=rf"""(?i)(?:{_KEY_NAMES}|{_SERVICES})(?:{_VERB}|{_PARTICLE}|{_SIGN})["'`]?({_VALUE}{{12,200}})""",
        keywords=("key", "token", "secret", "api", "clave", "chave", "clé", "chiave", "ключ", "密钥", "密鑰"),
        entropy=3.2,
        allow=(PLACEHOLDERS, _NO_DIGIT, _WORDS, _PLACES, Allow(regexes=(r"^[0-9a-f]{8}-[0-9a-f-]{27}$",))),
    ),
    Rule(
        id="told-token",
        # "the token is TOKEN": what is no hash and no UUID
        regex=rf"""(?i)\b(?:token|key|secret)(?:{_VERB}|{_PARTICLE})["'`]?({_VALUE}{{20,200}})""",
        keywords=("token", "key", "secret"),
        entropy=3.5,
        allow=(PLACEHOLDERS, _NO_DIGIT, _WORDS, _PLACES, Allow(regexes=(r"^(?:sha\d+[-:=]?)?[0-9a-f-]+$",))),
    ),
    Rule(
        id="environment-secret",
        regex=r"""\b(?:[A-Z][A-Z0-9]*_)*(?:TOKEN|SECRET|API_?KEY|(?:ACCESS|SECRET|PRIVATE|SIGNING|ENCRYPTION|[A-Z]*AI|ANTHROPIC)_?KEY"""
        r"""|PAT|PASS|PWD|PW|CREDENTIALS?)"""
        r"""(?:[ ]?=[ ]?|[ ])["']?([^\s"'`$<>(){}\[\];,]{8,200})""",
        keywords=("token", "secret", "key", "credential", "pat", "pass", "pwd", "pw"),
        entropy=2.5,
        allow=(PLACEHOLDERS, _NO_DIGIT, _WORDS, _PLACES, Allow(regexes=(r"^\d+$", r"^[0-9a-f]{8}-[0-9a-f-]{27}$"))),
    ),
    Rule(
        id="secret-option",
        regex=r"""(?i)--(?:token|api-?key|secret|password|passwd|auth-token)(?:=|[ ]{1,2})["']?"""
        r"""([^\s"'`$<>(){}\[\];,-][^\s"'`$<>(){}\[\];,]{5,200})""",
        keywords=("--",),
        entropy=2,
        allow=(PLACEHOLDERS, _NO_DIGIT, _PLACES),
    ),
)

_PASSWORD: Final = (
    r"pass(?:word|wd|phrase|code)|pwd|passwort|kennwort|contraseña|contrasena|mot de passe|senha|palavra-passe"
    r"|wachtwoord|hasło|heslo|пароль|lösenord|adgangskode|salasana|jelszó|parola|şifre|密码|密碼|パスワード|비밀번호"
    r"|mật khẩu"
)
_WHOSE: Final = (
    r"(?:[ ](?:for|of|to|on|at|für|von|pour|para|per|de|del|di|da|van|voor)(?:[ ][A-Za-z0-9._-]{1,30}){1,3}?)?"
)
_HASHING: Final = Allow(
    regexes=(
        r"(?i)sha-?\d|md5|base64|argon2|bcrypt|pbkdf2|scrypt|utf-?8|oauth2|[12]password|\b2fa\b|^\d{4}-\d\d-\d\d|^\d+[-–]\d+$",
        r"(?i)^\d+(?:\+|\s|-)?(?:chars?|characters?|days?|tage|zeichen|years?|min|hours?|bits?|words?)",
        r"^\d{1,5}$",
    )
)
_PASSWORDS: Final = (
    Rule(
        id="password",
        # "password": "PASSWORD", DB_PASSWORD=PASSWORD, `password: PASSWORD` of YAML, and "my password is PASSWORD"
        regex=rf"""(?i)(?:{_PASSWORD}){_WHOSE}(?:(?:{_SIGN}|{_VERB})(?:["'`]([^"'`\s\\]{{6,100}})|([^\s"'`&;,<>()\[\]{{}}$/\\]{{6,100}}))"""
        rf"""|{_PARTICLE}([!#%*-+\-.0-:=?-Z^_a-z|~]{{6,100}}))""",
        keywords=(
            "passw",
            "passphrase",
            "passcode",
            "pwd",
            "kennwort",
            "contrase",
            "mot de passe",
            "senha",
            "palavra-passe",
            "wachtwoord",
            "hasło",
            "heslo",
            "пароль",
            "lösenord",
            "adgangskode",
            "salasana",
            "jelszó",
            "parola",
            "şifre",
            "密码",
            "密碼",
            "パスワード",
            "비밀번호",
            "mật khẩu",
        ),
        entropy=2,
        allow=(PLACEHOLDERS, _NO_DIGIT, _HASHING, _PLACES),
    ),
    Rule(
        id="bare-password",
        # "password PASSWORD", which is a password only if it mixes letters and digits more than a name does
        regex=rf"""(?i)(?:\b(?:{_PASSWORD})[ ]{{1,2}}|[A-Z0-9]_PASSWORD[ ]|requirepass[ ]|sshpass[ ]+-p[ ]?"""
        r"""|identified by[ ]|SecureString[ ]|\bpass[:=][ ]?|\bpw[:=][ ]?|\b(?:zugangs|pass)code[:=][ ]?)"""
        r"""["'`]?([^\s"'`&;,<>()\[\]{}$/\\]{6,100})""",
        keywords=(
            "pass",
            "pwd",
            "pw",
            "kennwort",
            "contrase",
            "senha",
            "wachtwoord",
            "identified by",
            "securestring",
            "code",
        ),
        entropy=2,
        allow=(PLACEHOLDERS, _NO_DIGIT, _HASHING, _PLACES, _WORDS, Allow(regexes=(r"^[\d.:,/-]+\D?$",))),
    ),
    Rule(
        id="told-password",
        # "use PASSWORD as the password"
        regex=rf"""(?i)["'`]?([^\s"'`&;,<>()\[\]{{}}$/\\]{{6,100}})["'`]?[ ](?:as|is|was|als|comme|como)[ ]"""
        rf"""(?:the|my|our|das|mein)[ ](?:[a-z]{{1,20}}[ ])?(?:{_PASSWORD})\b""",
        keywords=("passw", "kennwort", "passcode"),
        entropy=2,
        allow=(PLACEHOLDERS, _NO_DIGIT, _HASHING, _PLACES, _WORDS, Allow(regexes=(r"^[\d.:,/-]+\D?$",))),
    ),
    Rule(
        id="credentials",
        # "credentials: NAME:PASSWORD"
        regex=r"""(?i)\b(?:logins?|log-in|credentials?|creds|user(?:name)?/pass(?:word)?|zugangsdaten|identifiants)"""
        r"""\s?[:=]\s?[\w.@+-]{2,60}\s?[:/|]\s?([^\s"'`&;,<>()\[\]{}$/\\]{6,100})""",
        keywords=("login", "log-in", "cred", "user/pass", "username/pass", "zugangsdaten", "identifiants"),
        entropy=2,
        allow=(PLACEHOLDERS, _NO_DIGIT, _HASHING, _PLACES, _WORDS, Allow(regexes=(r"^[\d.:,/-]+\D?$",))),
    ),
    Rule(
        id="xml-secret",
        regex=r"(?i)<(?:\w{1,30}[:_.-]?)?(?:password|passwd|pwd|secret|token|apikey|api-key)>([^<\s]{6,200})<",
        keywords=("password>", "passwd>", "pwd>", "secret>", "token>", "key>"),
        entropy=2,
        allow=(PLACEHOLDERS, _NO_DIGIT, _PLACES, _WORDS),
    ),
    Rule(
        id="pgpass-password",
        regex=r"(?:\A|\s)[\w.*-]{1,100}:(?:\d{4,5}|\*):[\w.*-]{1,60}:[\w.*-]{1,60}:([^\s:]{6,100})",
        keywords=(":5432:", ":*:"),
        allow=(PLACEHOLDERS, _NO_DIGIT),
    ),
    Rule(
        id="netrc-password",
        regex=r"\blogin\s{1,4}\S{1,100}\s{1,4}password\s{1,4}(\S{4,100})",
        keywords=("login",),
        allow=(PLACEHOLDERS, _NO_DIGIT),
    ),
)

OWN: Final = tuple(replace(rule, ends_before=b".,:;") for rule in (*_TOKENS, *_NAMED, *_PASSWORDS))
NAMED: Final = frozenset(rule.id for rule in (*_NAMED, *_PASSWORDS))
"""The kinds that a name before them tells, and not the secret itself."""
