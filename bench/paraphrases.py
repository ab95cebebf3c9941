"""Fifty things said twice, the second time in other words: what should not surprise. Written for this benchmark."""

from typing import Final

PARAPHRASES: Final = (
    (
        "I moved to Lisbon last spring because of my new job.",
        "A new job brought me to Lisbon in the spring of last year.",
    ),
    ("The user is allergic to peanuts.", "Peanuts give the user an allergic reaction."),
    (
        "Dana: My daughter starts primary school on Monday.",
        "Dana: On Monday my little girl goes to school for the first time.",
    ),
    (
        "The deployment failed since the database migration timed out.",
        "A timeout in the database migration made the deployment fail.",
    ),
    (
        "He plays chess with his grandfather every Sunday.",
        "Every Sunday he and his grandad sit down for a game of chess.",
    ),
    (
        "The user prefers short answers without bullet points.",
        "Keep replies to the user brief, and don't use bullet lists.",
    ),
    (
        "We adopted a black cat called Miso from the shelter.",
        "Our cat Miso, who is black, came from an animal shelter.",
    ),
    (
        "The meeting with the lawyers was moved to Thursday afternoon.",
        "The lawyers' meeting now takes place on Thursday after lunch.",
    ),
    ("Omar ran his first marathon in under four hours.", "Omar's first marathon took him less than four hours."),
    (
        "My car has been at the garage since Tuesday with a broken gearbox.",
        "The gearbox broke, so my car is at the mechanic's since Tuesday.",
    ),
    ("She quit smoking two years ago.", "It is two years since she smoked her last cigarette."),
    ("The user's birthday is on the ninth of March.", "The user was born on March 9."),
    ("Kim: I can't come tonight, I have a fever.", "Kim: I'm running a temperature, so count me out for tonight."),
    ("The office printer is out of toner again.", "Once more there is no toner left in the printer at the office."),
    ("They are saving money to buy a house near the sea.", "They put money aside for a home close to the coast."),
    ("The user wants all reports as PDF files by email.", "Reports should be emailed to the user in PDF format."),
    (
        "Grandma's apple pie has cinnamon and a little lemon in it.",
        "A bit of lemon and cinnamon goes into grandma's apple pie.",
    ),
    (
        "The flight to Toronto was delayed for six hours by snow.",
        "Because of snow our plane to Toronto left six hours late.",
    ),
    (
        "Leo is learning Korean with an app before his trip to Seoul.",
        "Before he travels to Seoul, Leo studies Korean on his phone.",
    ),
    ("The API key expires at the end of June.", "After June the API key will no longer be valid."),
    ("I sold my old guitar and bought a keyboard.", "My old guitar is sold; I got myself a keyboard instead."),
    ("The doctor told him to eat less salt.", "He has to cut down on salt, his doctor says."),
    ("Nora's team won the regional volleyball final.", "The regional volleyball final went to Nora's team."),
    ("The user has lived in Berlin for eleven years.", "Berlin has been the user's home for eleven years."),
    (
        "Our landlord is raising the rent by fifty euros a month.",
        "We'll pay fifty euros more rent each month, the landlord says.",
    ),
    ("Please never call the user before ten in the morning.", "The user doesn't want phone calls earlier than 10 am."),
    ("The staging server runs out of memory every night.", "Each night the staging server has no memory left."),
    ("Ines: My brother is getting married in September!", "Ines: In September there'll be a wedding, my brother's!"),
    ("He is afraid of flying and always takes the train.", "Since planes scare him he travels by train every time."),
    ("The bakery on the corner is closed on Wednesdays.", "On Wednesdays you can't buy anything at the corner bakery."),
    ("The user works as a nurse on the children's ward.", "The user is a nurse who looks after sick children."),
    ("They watched the lunar eclipse from the roof.", "From the rooftop they saw the eclipse of the moon."),
    (
        "Her thesis is about how bees find their way home.",
        "She writes her thesis on the navigation of bees back to the hive.",
    ),
    ("The password was reset after three failed logins.", "Three wrong login attempts led to a reset of the password."),
    (
        "I've been volunteering at the food bank since the winter.",
        "Since winter I help out at the food bank without pay.",
    ),
    (
        "Tariq: The hike was hard but the view was worth it.",
        "Tariq: It was a tough climb, yet the view made up for it.",
    ),
    ("The user switched from Windows to Linux last month.", "Last month the user left Windows and installed Linux."),
    ("The twins want a telescope for Christmas.", "A telescope is what the twins wish for at Christmas."),
    ("El usuario es vegetariano desde hace cinco años.", "Hace cinco años que el usuario no come carne."),
    ("Mañana llevo al perro al veterinario.", "El perro tiene cita con el veterinario mañana."),
    ("Marta: Perdí el tren y llegué tarde a la reunión.", "Marta: Llegué tarde a la reunión porque se me fue el tren."),
    ("Vivimos en un piso pequeño cerca de la playa.", "Nuestro piso es pequeño y está al lado de la playa."),
    ("El informe debe entregarse antes del viernes.", "Hay que entregar el informe el jueves como muy tarde."),
    ("A mi hermana le encanta bailar salsa los sábados.", "Los sábados mi hermana disfruta bailando salsa."),
    ("ユーザーはコーヒーより紅茶が好きです。", "ユーザーの好みはコーヒーではなく紅茶です。"),
    ("来週の月曜日に大阪へ出張します。", "大阪への出張は来週の月曜です。"),
    ("妹は去年から高校で数学を教えています。", "妹は高校の数学の先生になって一年になります。"),
    ("サーバーは毎晩二時に再起動されます。", "毎晩二時にサーバーの再起動が行われます。"),
    ("父は定年後に陶芸を始めました。", "退職してから父は陶芸をするようになりました。"),
    ("駅前の本屋は先月閉店しました。", "駅の前にあった書店が先月店を閉めました。"),
)
"""Things that people and agents keep, in English, Spanish and Japanese."""
