"""The texts by whose vectors a model is calibrated: memories, turns and questions as agents keep them."""

from typing import Final

CALIBRATION_TEXTS: Final = (
    "The user can't eat shellfish since an allergic reaction ten years ago.",
    "The nightly backup fails because the disk of the database server is full.",
    "Maria: I'm so excited, my sister's wedding will be in a vineyard near Porto!",
    "User wants tabs, not spaces, in every Makefile of the project.",
    "Tom: We climbed the ridge before sunrise and saw two eagles above the glacier.",
    "The landlord is called Mr. Okafor and wants the rent on the third of the month.",
    "What did my grandfather do for a living?",
    "The quarterly report shows that sales in Canada fell by four percent.",
    "Aisha: My cat sleeps on the printer whenever the heating is off, it's so funny.",
    "The user prefers historical novels, above all those about the silk road.",
    "Ben: Did you hear that the goalkeeper broke his wrist in the cup final?",
    "A vaccination against tetanus should be refreshed every ten years.",
    "User's flight to Nairobi leaves on Friday at 6:40 and she likes window seats.",
    "How do I renew the certificate of the staging cluster?",
    "Priya: I've started to play the clarinet again, my teacher is really patient.",
    "The user's tomatoes want six hours of sun and a stake to climb on.",
    "The team decided to charge customers by the seat instead of by the month.",
    "Knead the dough for ten minutes and let it rise until it has doubled.",
    "El usuario cambia los frenos de la furgoneta azul el martes.",
    "Lucía: La profesora de baile vive encima de la panadería.",
    "Los delfines duermen con medio cerebro despierto.",
    "会議の資料は金曜日までに田中さんへ送ってください。",
    "祖母の家の庭には大きな柿の木があります。",
    "ユーザーは薬を食後に一日三回飲みます。",
)
"""Each of a subject of its own; the English ones first."""

CONVERSATION: Final = (
    "Nina: Hi Paul! How was your weekend? I finally finished painting the kitchen.",
    "Paul: Hey Nina! Mine was quiet, I repaired my bike and cooked for my parents.",
    "Nina: That sounds nice. What did you make for them?",
    "Paul: A lentil curry. My dad asked for the recipe, which never happens!",
    "Nina: Wow, you must be proud. I'm still learning to cook anything but pasta.",
    "Paul: You should come over some time, we could cook together.",
    "Nina: I'd love to! By the way, I signed up for a pottery class that starts in May.",
    "Paul: Cool! Have you ever done pottery before?",
    "Nina: Never, but my aunt had a kiln and I liked to watch her as a child.",
    "Paul: I can see that. It's good to have something to do with your hands.",
    "Nina: Exactly, I sit at a screen the whole day. Work is stressful at the moment.",
    "Paul: I'm sorry to hear it. Is it still the project with the new hospital?",
    "Nina: Yes, the plans changed again and my boss wants them by Friday.",
    "Paul: That's tough. I hope that you get some rest after that.",
    "Nina: I will, we're going to the lake with the kids. They want to learn to swim.",
    "Paul: What a great idea! My sister taught me to swim in a lake.",
    "Nina: How is she doing? Is she still in Norway?",
    "Paul: She is, and she's expecting a baby in October. I'm going to be an uncle!",
    "Nina: Congratulations, that's wonderful news! You'll be a great uncle.",
    "Paul: Thanks! I've already bought a tiny pair of shoes and a picture book.",
    "Nina: So sweet. Did your dog get used to the new flat?",
    "Paul: More or less. Luna barks at the lift, but she loves the park next door.",
    "Nina: Give her a hug from me. I've got to run, the school is calling.",
    "Paul: No problem, talk to you soon! Let me know how the swimming goes.",
)
"""A talk as it goes from one subject to the next, every turn with something of its own."""

JAPANESE_TEXTS: Final = (
    "昨日の夜は雷が鳴って眠れませんでした。",
    "新しい靴のサイズが合わなくて返品しました。",
    "息子のサッカーの試合は三対一で勝ったよ。",
    "この図書館は月曜日が休館日です。",
    "レポートは英語で短くまとめてください。",
    "隣の犬がまた花壇を掘り返してしまった。",
    "彼女は京都で三味線を習っています。",
    "データベースの容量が足りなくなりました。",
    "夏休みに北海道で初めて馬に乗りました。",
    "紅葉の写真を玄関に飾りました。",
    "ユーザーは海老を食べると発疹が出ます。",
    "税金の書類はどこに送ればいいですか。",
)
"""Each of a subject of its own."""
