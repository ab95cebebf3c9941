"""Forms of English words that no rule of endings leads back to one: went and go, children and child, colour and color.

A question has nearly always another form than its answer: "Where did we eat?" asks for "We ate at Carlo's". Snowball's
English stemmer leaves such forms apart. Left out are forms that are more often another word, such as "bit", "rose" and
"lives".
"""

from typing import Final

_IRREGULAR: Final = """
arise arose arisen|awake awoke awoken|beat beaten|become became|begin began begun|bend bent|bite bitten|bleed bled
blow blew blown|break broke broken|breed bred|bring brought|build built|burn burnt|buy bought|catch caught
choose chose chosen|cling clung|come came|creep crept|deal dealt|dig dug|draw drew drawn|dream dreamt
drink drank drunk|drive drove driven|eat ate eaten|fall fell fallen|feed fed|feel felt|fight fought|find found
flee fled|fly flew flown|forget forgot forgotten|forgive forgave forgiven|freeze froze frozen|get got gotten
give gave given|go went gone|grow grew grown|hang hung|hear heard|hide hid hidden|hold held|keep kept
kneel knelt|know knew known|lay laid|lead led|lean leant|leap leapt|learn learnt|leave left|lend lent|lie lain
light lit|lose lost|make made|mean meant|meet met|mislead misled|misunderstand misunderstood|outgrow outgrew outgrown
overcome overcame|oversleep overslept|pay paid|prove proven|rebuild rebuilt|repay repaid|resell resold
rewrite rewrote rewritten|ride rode ridden|ring rang rung|rise risen|run ran|say said|see saw seen|seek sought
sell sold|send sent|sew sewn|shake shook shaken|shine shone|shoot shot|show shown|shrink shrank shrunk
sing sang sung|sink sank sunk|sit sat|sleep slept|slide slid|speak spoke spoken|spell spelt|spend spent|spill spilt
spin spun|spring sprang sprung|stand stood|steal stole stolen|stick stuck|sting stung|strike struck stricken
strive strove|swear swore sworn|sweep swept|swim swam swum|swing swung|take took taken|teach taught|tear tore torn
tell told|think thought|throw threw thrown|undergo underwent undergone|understand understood
undertake undertook undertaken|wake woke woken|wear wore worn|weave wove woven|weep wept|win won
withdraw withdrew withdrawn|wring wrung|write wrote written
calf calves|child children|foot feet|goose geese|half halves|knife knives|loaf loaves|man men|mouse mice|person people
shelf shelves|thief thieves|tooth teeth|wife wives|wolf wolves|woman women
"""

_BRITISH: Final = """
color colour colours coloured colouring|favor favour favours favoured|favorite favourite favourites
flavor flavour flavours|honor honour honours honoured|humor humour|labor labour|behavior behaviour behaviours
harbor harbour harbours|neighbor neighbour neighbours neighbouring|neighborhood neighbourhood neighbourhoods
rumor rumour rumours|odor odour
center centre centres|theater theatre theatres|meter metre metres|kilometer kilometre kilometres|liter litre litres
fiber fibre fibres|gray grey|tire tyre tyres|program programme programmes|jewelry jewellery|pajamas pyjamas
mustache moustache|catalog catalogue catalogues|dialog dialogue dialogues|defense defence|offense offence
license licence licences|organize organise organised organises organising|organization organisation organisations
realize realise realised realising|recognize recognise recognised|apologize apologise apologised
customize customise customised|prioritize prioritise prioritised|summarize summarise summarised
mom mum mums|math maths|aluminum aluminium|check cheque cheques|plow plough|mold mould mouldy|specialty speciality
"""


FORMS: Final = {
    form: base
    for base, *forms in map(str.split, (_IRREGULAR + _BRITISH).strip().replace("\n", "|").replace("||", "|").split("|"))
    for form in forms
}
"""The base of each form."""
