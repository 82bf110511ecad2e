"""Words of the made-up English of `grammar.py`, by what they do in a sentence.

The classes decide where a phrase attaches, so that a reader of the words alone can tell: a person
is hit *with a hammer* (a tool belongs to the verb), a house *with a garden* stands (a part belongs
to the noun).
"""

from __future__ import annotations

from typing import NamedTuple


class Noun(NamedTuple):
    singular: str
    plural: str


class Verb(NamedTuple):
    base: str  # VB, VBP
    present: str  # VBZ
    past: str  # VBD
    gerund: str  # VBG
    participle: str  # VBN


def _words(text: str) -> list[str]:
    return text.split()


def _nouns(words: str) -> list[Noun]:
    """Nouns with a regular plural, or as `singular/plural`."""
    return [
        Noun(*(word.split("/") if "/" in word else (word, word + "s"))) for word in words.split()
    ]


def _verbs(rows: str) -> list[Verb]:
    return [Verb(*row.split()) for row in rows.strip().split("\n")]


PEOPLE = _nouns(
    "teacher farmer doctor child/children woman/women man/men neighbour pilot sailor painter "
    "singer judge nurse baker student tourist lawyer engineer visitor writer dancer guard driver "
    "girl boy friend soldier waiter queen king"
)
ANIMALS = _nouns(
    "dog cat horse bird cow sheep/sheep goat duck fox/foxes wolf/wolves mouse/mice bear"
)
THINGS = _nouns(
    "letter book picture map coat box/boxes basket bottle chair clock key lamp piano ring ticket "
    "car bicycle boat table bag cup plate cake apple stone song story/stories"
)
# Nouns that have parts: the left one is what a `with` after it tells more about.
BUILDINGS = _nouns("house castle church/churches school farm hotel shop tower cottage station")
PARTS = _nouns("garden roof door window chimney/chimneys cellar balcony/balconies gate wall stair")
PLACES = _nouns(
    "forest river field village market harbour bridge road park hill lake island valley"
)
TOOLS = _nouns("hammer knife/knives rope brush/brushes spoon stick pen shovel needle net")
# Relations: `the owner of the house`.
RELATIONS = _nouns("owner colour price name size history/histories end edge shape weight")
TIMES = _nouns("meeting war storm winter summer concert dinner journey/journeys lesson wedding")
IDEAS = _nouns("plan idea problem question answer rule law promise decision mistake")
UNITS = _nouns("dollar mile hour day week year pound")

FIRST_NAMES = _words(
    "Anna Peter Maria John Laura Thomas Helen Martin Clara Simon Ruth Oscar Nina Victor Emma Paul"
)
LAST_NAMES = _words("Miller Brown Stone Field Carter Hill Parker Wood Baker Young Fisher Marsh")
TITLES = _words("Mr. Mrs. Dr.")
CITIES = _words("London Paris Rome Vienna Dublin Boston Oslo Berlin Madrid Geneva")
WEEKDAYS = _words("Monday Tuesday Wednesday Thursday Friday Saturday Sunday")
MONTHS = _words("January March April June July October December")

ADJECTIVES = _words(
    "old young big small red green blue white black tall short happy sad quiet loud heavy light "
    "new strange famous poor rich clever tired hungry cold warm dark bright narrow wide empty full "
    "broken beautiful ugly friendly angry brave gentle honest lazy proud"
)
COMPARATIVES = _words("older younger bigger smaller taller shorter happier heavier colder brighter")
DEGREES = _words("very quite rather too so")
MANNERS = _words(
    "slowly quickly quietly loudly carefully happily sadly gently badly suddenly secretly proudly"
)
TIME_ADVERBS = _words("yesterday today tomorrow again soon now later")
FREQUENCIES = _words("always often never sometimes usually rarely")
SENTENCE_ADVERBS = _words("Perhaps Finally Unfortunately However Meanwhile Indeed")
INTERJECTIONS = _words("Well Yes No Oh Ah")
NUMBERS = _words("two three four five six seven eight ten twelve twenty thirty fifty 15 40 100 250")

PLACE_PREPOSITIONS = _words("in near behind under beside outside")
TIME_PREPOSITIONS = _words("before after during until")
SUBORDINATORS = _words("because when if while although before after")

INTRANSITIVE = _verbs("""
sleep sleeps slept sleeping slept
laugh laughs laughed laughing laughed
wait waits waited waiting waited
sing sings sang singing sung
fall falls fell falling fallen
arrive arrives arrived arriving arrived
work works worked working worked
dance dances danced dancing danced
swim swims swam swimming swum
smile smiles smiled smiling smiled
cry cries cried crying cried
disappear disappears disappeared disappearing disappeared
""")
TRANSITIVE = _verbs("""
see sees saw seeing seen
find finds found finding found
love loves loved loving loved
watch watches watched watching watched
paint paints painted painting painted
follow follows followed following followed
hit hits hit hitting hit
carry carries carried carrying carried
buy buys bought buying bought
steal steals stole stealing stolen
break breaks broke breaking broken
remember remembers remembered remembering remembered
describe describes described describing described
visit visits visited visiting visited
need needs needed needing needed
clean cleans cleaned cleaning cleaned
draw draws drew drawing drawn
know knows knew knowing known
""")
# Take an object and a place: `put the cup under the table`.
PLACING = _verbs("""
put puts put putting put
hide hides hid hiding hidden
leave leaves left leaving left
place places placed placing placed
""")
# Take a person and a thing, or a thing and `to` a person.
GIVING = _verbs("""
give gives gave giving given
send sends sent sending sent
show shows showed showing shown
sell sells sold selling sold
offer offers offered offering offered
""")
SAYING = _verbs("""
say says said saying said
think thinks thought thinking thought
believe believes believed believing believed
hope hopes hoped hoping hoped
claim claims claimed claiming claimed
""")
WANTING = _verbs("""
want wants wanted wanting wanted
try tries tried trying tried
hope hopes hoped hoping hoped
plan plans planned planning planned
refuse refuses refused refusing refused
""")
# With the particle that belongs to each.
PARTICLE_VERBS = list(
    zip(
        _verbs("""
pick picks picked picking picked
throw throws threw throwing thrown
turn turns turned turning turned
wake wakes woke waking woken
"""),
        _words("up away down up"),
        strict=True,
    )
)
MODALS = _words("can could will would must should may might")
