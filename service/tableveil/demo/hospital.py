"""The made-up hospital network behind the demo's table: its counties, groups of people, names and diagnoses.

Counties and diagnosis codes are real, their figures are round guesses; zip codes only share the first three digits with
the counties' real ones. Nothing here describes a person.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import date
from itertools import chain

FIRST_DAY = date(2022, 1, 1)
LAST_DAY = date(2024, 12, 31)
OLDEST = 105
LONGEST_STAY = 180
SEXES = ("F", "M", "X")


@dataclass(frozen=True, slots=True)
class County:
    """A county: thousands of inhabitants, how diverse they are (0 to 1), and the beginnings of its zip codes."""

    name: str
    population: int
    diversity: float
    prefixes: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class ZipCode:
    """A zip code of exactly one county."""

    code: str
    county: int
    population: float


@dataclass(frozen=True, slots=True)
class Ethnicity:
    """A group: its share of inhabitants where diversity is 0 and where it is 1, and the surnames most common in it."""

    name: str
    rural: float
    metropolitan: float
    surnames: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Diagnosis:
    """A main diagnosis and its typical patient.

    `frequency` is relative to the others; `days` is the stay at age 40, `rate` the dollars charged per day.
    """

    code: str
    frequency: float
    youngest: int
    commonest: int
    oldest: int
    female: float
    days: float
    rate: int
    winter: bool = False


REGIONS: Mapping[str, tuple[County, ...]] = {
    "Northern New England": (
        County("Cumberland ME", 303, 0.15, ("040", "041")),
        County("York ME", 212, 0.08, ("039",)),
        County("Penobscot ME", 152, 0.08, ("044",)),
        County("Kennebec ME", 124, 0.07, ("043",)),
        County("Androscoggin ME", 111, 0.14, ("042",)),
        County("Aroostook ME", 67, 0.06, ("047",)),
        County("Hillsborough NH", 423, 0.20, ("030", "031")),
        County("Rockingham NH", 314, 0.10, ("038",)),
        County("Merrimack NH", 154, 0.10, ("032", "033")),
        County("Grafton NH", 91, 0.12, ("037",)),
        County("Cheshire NH", 77, 0.08, ("034",)),
        County("Chittenden VT", 168, 0.17, ("054",)),
        County("Rutland VT", 61, 0.06, ("057",)),
        County("Washington VT", 60, 0.08, ("056",)),
        County("Windsor VT", 58, 0.07, ("050",)),
    ),
    "Greater Boston": (
        County("Middlesex MA", 1632, 0.36, ("017", "018", "024")),
        County("Essex MA", 810, 0.36, ("019",)),
        County("Suffolk MA", 798, 0.62, ("021", "022")),
        County("Norfolk MA", 726, 0.33, ("020",)),
        County("Plymouth MA", 531, 0.24, ("023",)),
    ),
    "Western Massachusetts": (
        County("Worcester MA", 862, 0.30, ("015", "016")),
        County("Hampden MA", 466, 0.42, ("011",)),
        County("Hampshire MA", 162, 0.20, ("010",)),
        County("Berkshire MA", 129, 0.14, ("012",)),
        County("Franklin MA", 71, 0.10, ("013",)),
    ),
    "Southern New England": (
        County("Bristol MA", 579, 0.25, ("027",)),
        County("Barnstable MA", 229, 0.13, ("025", "026")),
        County("Providence RI", 661, 0.45, ("029",)),
        County("Kent RI", 170, 0.18, ("028",)),
        County("Fairfield CT", 957, 0.44, ("066", "068", "069")),
        County("Hartford CT", 900, 0.42, ("060", "061")),
        County("New Haven CT", 865, 0.43, ("064", "065", "067")),
        County("New London CT", 269, 0.28, ("063",)),
        County("Windham CT", 116, 0.20, ("062",)),
    ),
    "North Jersey": (
        County("Bergen NJ", 956, 0.50, ("076",)),
        County("Essex NJ", 863, 0.78, ("070", "071")),
        County("Hudson NJ", 725, 0.76, ("073",)),
        County("Union NJ", 575, 0.68, ("072",)),
        County("Passaic NJ", 524, 0.68, ("074", "075")),
        County("Morris NJ", 509, 0.36, ("078", "079")),
    ),
    "South Jersey": (
        County("Middlesex NJ", 863, 0.62, ("088", "089")),
        County("Monmouth NJ", 644, 0.28, ("077",)),
        County("Ocean NJ", 637, 0.18, ("087",)),
        County("Camden NJ", 523, 0.50, ("080", "081")),
        County("Mercer NJ", 387, 0.55, ("085", "086")),
        County("Atlantic NJ", 275, 0.48, ("082", "084")),
    ),
    "New York City": (
        County("Kings NY", 2737, 0.68, ("112",)),
        County("Queens NY", 2405, 0.80, ("113", "114", "116")),
        County("New York NY", 1694, 0.57, ("100", "101", "102")),
        County("Bronx NY", 1473, 0.95, ("104",)),
        County("Richmond NY", 496, 0.42, ("103",)),
    ),
    "Long Island and Hudson Valley": (
        County("Suffolk NY", 1526, 0.38, ("117", "119")),
        County("Nassau NY", 1396, 0.46, ("115", "118")),
        County("Westchester NY", 1004, 0.50, ("105", "106", "107")),
        County("Albany NY", 315, 0.33, ("120", "122")),
        County("Dutchess NY", 296, 0.33, ("125", "126")),
    ),
    "Upstate New York": (
        County("Erie NY", 954, 0.28, ("140", "142")),
        County("Monroe NY", 759, 0.33, ("144", "146")),
        County("Onondaga NY", 476, 0.25, ("130", "132")),
        County("Oneida NY", 232, 0.18, ("134", "135")),
    ),
}
COUNTIES = tuple(chain.from_iterable(REGIONS.values()))

_ENGLISH = (
    *("Smith", "Johnson", "Brown", "Miller", "Davis", "Wilson", "Anderson", "Taylor", "Moore", "Martin", "Clark"),
    *("Lewis", "Walker", "Hall", "Allen", "Young", "King", "Wright", "Hill", "Scott", "Green", "Adams", "Baker"),
    *("Sullivan", "Murphy", "Kelly", "O'Brien", "McCarthy", "Russo", "Esposito", "Romano", "Kowalski", "Nowak"),
    *("Cohen", "Levy", "Schmidt", "Weber", "Tremblay", "Gagnon", "Pelletier", "Ouellette", "Silva", "Sousa"),
)
_AFRICAN_AMERICAN = (
    *("Williams", "Johnson", "Jones", "Jackson", "Harris", "Robinson", "Washington", "Jefferson", "Banks", "Booker"),
    *("Joseph", "Pierre", "Charles", "Campbell", "Grant", "Coleman", "Simmons", "Mensah", "Okafor", "Diallo"),
)
_SPANISH = (
    *("Rodriguez", "Garcia", "Martinez", "Rivera", "Perez", "Gonzalez", "Hernandez", "Lopez", "Santiago", "Cruz"),
    *("Ortiz", "Reyes", "Ramos", "Diaz", "Vasquez", "Colon", "Santos", "Peña", "Nuñez", "Jimenez"),
)
_CHINESE = (
    *("Chen", "Wang", "Li", "Zhang", "Liu", "Lin", "Huang", "Wu", "Yang", "Zhao"),
    *("Chan", "Wong", "Lee", "Cheng", "Ng", "Tang", "Xu", "Zheng", "Guo", "He"),
)
_SOUTH_ASIAN = (
    *("Patel", "Singh", "Khan", "Shah", "Kumar", "Sharma", "Gupta", "Ahmed", "Desai", "Mehta"),
    *("Reddy", "Rao", "Kaur", "Hossain", "Rahman", "Chowdhury", "Iyer", "Nair", "Joshi", "Malik"),
)

ETHNICITY_GROUPS: Mapping[str, tuple[Ethnicity, ...]] = {
    "European": (Ethnicity("White", 94.0, 8.0, _ENGLISH),),
    "African": (Ethnicity("Black", 1.5, 32.0, _AFRICAN_AMERICAN),),
    "Hispanic": (Ethnicity("Puerto Rican", 0.8, 17.0, _SPANISH), Ethnicity("Dominican", 0.3, 17.0, _SPANISH)),
    "Asian": (Ethnicity("Chinese", 0.6, 10.0, _CHINESE), Ethnicity("South Asian", 0.6, 9.0, _SOUTH_ASIAN)),
    "Other": (
        Ethnicity("Native American", 0.8, 0.6, _ENGLISH),
        Ethnicity("Two or more", 1.4, 6.4, _ENGLISH + _AFRICAN_AMERICAN + _SPANISH),
    ),
}
ETHNICITIES = tuple(chain.from_iterable(ETHNICITY_GROUPS.values()))
SURNAMES = tuple(dict.fromkeys(name for ethnicity in ETHNICITIES for name in ethnicity.surnames))

# First names, most common first; X draws from both.
FIRST_NAMES: Mapping[str, tuple[str, ...]] = {
    "F": (
        *("Mary", "Jennifer", "Maria", "Linda", "Elizabeth", "Patricia", "Susan", "Jessica", "Sarah", "Karen"),
        *("Lisa", "Nancy", "Ashley", "Emily", "Donna", "Michelle", "Carol", "Amanda", "Melissa", "Deborah"),
        *("Stephanie", "Rebecca", "Laura", "Sharon", "Amy", "Anna", "Olivia", "Sophia", "Isabella", "Mia"),
        *("Carmen", "Rosa", "Ana", "Aisha", "Fatima", "Priya", "Mei", "Ling", "Grace", "Hannah"),
        *("Ruth", "Dorothy", "Helen", "Margaret", "Claire", "Chloe", "Naomi", "Imani", "Lucia", "Zoe"),
    ),
    "M": (
        *("James", "Michael", "John", "Robert", "David", "William", "Joseph", "Thomas", "Richard", "Jose"),
        *("Daniel", "Matthew", "Anthony", "Mark", "Christopher", "Steven", "Paul", "Andrew", "Kevin", "Brian"),
        *("Luis", "Carlos", "Juan", "Edward", "George", "Ryan", "Jacob", "Noah", "Liam", "Ethan"),
        *("Ahmed", "Mohammed", "Raj", "Arjun", "Wei", "Jun", "Kwame", "Malik", "Isaiah", "Elijah"),
        *("Frank", "Walter", "Harold", "Arthur", "Peter", "Samuel", "Lucas", "Gabriel", "Rafael", "Owen"),
    ),
}

CHAPTERS: Mapping[str, tuple[Diagnosis, ...]] = {
    "Infections": (
        Diagnosis("A04.72", 4.0, 18, 78, 105, 0.58, 5.4, 2600),
        Diagnosis("A08.4", 3.0, 0, 30, 98, 0.54, 2.4, 2300),
        Diagnosis("A41.9", 62.0, 1, 76, 105, 0.49, 6.2, 3900),
        Diagnosis("A41.51", 11.0, 18, 77, 104, 0.55, 5.9, 3800),
        Diagnosis("A49.9", 1.5, 0, 50, 98, 0.50, 4.0, 2700),
        Diagnosis("B20", 1.6, 18, 46, 80, 0.29, 7.2, 3300),
        Diagnosis("B34.9", 2.8, 0, 8, 95, 0.50, 2.3, 2200, winter=True),
        Diagnosis("U07.1", 21.0, 0, 74, 105, 0.48, 5.6, 3500, winter=True),
    ),
    "Neoplasms": (
        Diagnosis("C18.9", 4.5, 25, 70, 100, 0.48, 6.5, 4600),
        Diagnosis("C20", 1.8, 25, 64, 95, 0.40, 6.3, 4700),
        Diagnosis("C25.9", 2.3, 35, 71, 98, 0.49, 6.4, 4500),
        Diagnosis("C34.90", 5.2, 35, 71, 98, 0.50, 5.8, 4400),
        Diagnosis("C50.911", 2.4, 25, 62, 98, 0.99, 2.4, 6200),
        Diagnosis("C53.9", 0.9, 22, 50, 90, 1.0, 3.9, 5000),
        Diagnosis("C54.1", 1.9, 30, 64, 95, 1.0, 2.6, 5900),
        Diagnosis("C56.9", 1.3, 20, 64, 95, 1.0, 5.2, 5100),
        Diagnosis("C61", 3.4, 42, 67, 95, 0.0, 1.9, 8200),
        Diagnosis("C62.90", 0.4, 15, 30, 70, 0.0, 3.2, 5400),
        Diagnosis("C67.9", 1.6, 35, 74, 100, 0.25, 4.3, 4800),
        Diagnosis("C71.9", 1.2, 1, 60, 90, 0.43, 6.6, 5500),
        Diagnosis("C79.31", 1.9, 25, 66, 92, 0.52, 5.9, 4700),
        Diagnosis("C91.00", 0.9, 1, 6, 85, 0.44, 11.5, 4900),
        Diagnosis("D25.9", 3.8, 25, 45, 60, 1.0, 1.8, 6300),
    ),
    "Blood": (
        Diagnosis("D50.9", 3.9, 15, 74, 102, 0.62, 3.0, 2500),
        Diagnosis("D57.00", 3.6, 2, 26, 65, 0.53, 4.9, 2400),
        Diagnosis("D62", 2.2, 15, 74, 102, 0.57, 3.2, 2800),
    ),
    "Endocrine": (
        Diagnosis("E10.10", 6.4, 3, 27, 75, 0.49, 2.9, 2900),
        Diagnosis("E11.65", 5.8, 20, 61, 95, 0.46, 3.6, 2500),
        Diagnosis("E11.621", 3.9, 28, 60, 92, 0.31, 6.0, 3000),
        Diagnosis("E66.01", 6.1, 18, 42, 72, 0.79, 1.5, 14500),
        Diagnosis("E86.0", 5.1, 0, 78, 105, 0.59, 2.6, 2200),
        Diagnosis("E87.1", 6.8, 15, 77, 103, 0.60, 3.5, 2400),
        Diagnosis("E87.5", 2.0, 18, 69, 98, 0.44, 2.8, 2600),
    ),
    "Mental": (
        Diagnosis("F10.239", 10.5, 18, 49, 80, 0.28, 4.0, 1900),
        Diagnosis("F11.20", 3.2, 17, 34, 70, 0.38, 4.9, 1700),
        Diagnosis("F20.9", 7.0, 16, 39, 80, 0.37, 11.8, 1500),
        Diagnosis("F25.0", 6.1, 16, 41, 78, 0.45, 11.2, 1500),
        Diagnosis("F31.9", 6.9, 14, 35, 80, 0.57, 8.2, 1500),
        Diagnosis("F32.9", 8.7, 10, 24, 85, 0.60, 5.9, 1500),
        Diagnosis("F33.2", 10.8, 11, 31, 82, 0.56, 6.9, 1500),
        Diagnosis("F50.01", 0.5, 11, 17, 45, 0.93, 15.2, 1900),
        Diagnosis("F03.90", 3.7, 58, 84, 105, 0.60, 8.9, 1800),
    ),
    "Nervous": (
        Diagnosis("G20", 1.8, 45, 77, 98, 0.40, 4.7, 2500),
        Diagnosis("G30.9", 2.3, 60, 83, 105, 0.62, 6.0, 2000),
        Diagnosis("G35", 1.1, 18, 43, 75, 0.73, 4.1, 2900),
        Diagnosis("G40.909", 6.6, 0, 48, 95, 0.49, 3.1, 3200),
        Diagnosis("G45.9", 5.3, 30, 74, 102, 0.56, 1.8, 3700),
        Diagnosis("G93.41", 5.9, 20, 76, 103, 0.53, 4.3, 2900),
    ),
    "Circulatory": (
        Diagnosis("I10", 2.2, 25, 70, 102, 0.58, 2.0, 2900),
        Diagnosis("I11.0", 25.0, 25, 78, 105, 0.51, 4.4, 2800),
        Diagnosis("I13.0", 21.0, 30, 78, 105, 0.48, 4.9, 2800),
        Diagnosis("I16.0", 5.4, 22, 62, 98, 0.56, 2.3, 3000),
        Diagnosis("I20.0", 2.1, 32, 64, 95, 0.41, 1.8, 5200),
        Diagnosis("I21.3", 4.3, 28, 61, 98, 0.30, 2.8, 8600),
        Diagnosis("I21.4", 22.0, 30, 71, 103, 0.39, 3.4, 6300),
        Diagnosis("I25.110", 8.2, 35, 68, 95, 0.30, 4.5, 8900),
        Diagnosis("I26.99", 7.4, 18, 66, 100, 0.51, 3.5, 3500),
        Diagnosis("I35.0", 5.0, 40, 80, 102, 0.44, 2.6, 15500),
        Diagnosis("I47.20", 2.6, 20, 66, 95, 0.29, 3.3, 5600),
        Diagnosis("I48.91", 10.4, 25, 75, 103, 0.50, 2.7, 3400),
        Diagnosis("I61.9", 3.0, 20, 71, 100, 0.48, 6.6, 4600),
        Diagnosis("I63.9", 18.0, 20, 75, 105, 0.50, 4.1, 3800),
        Diagnosis("I70.261", 2.5, 40, 69, 98, 0.37, 6.9, 4900),
        Diagnosis("I71.40", 1.5, 50, 74, 95, 0.23, 2.6, 12500),
    ),
    "Respiratory": (
        Diagnosis("J10.1", 7.3, 0, 71, 105, 0.54, 3.2, 2600, winter=True),
        Diagnosis("J18.9", 17.5, 0, 77, 105, 0.51, 3.9, 2700, winter=True),
        Diagnosis("J20.9", 1.2, 0, 60, 100, 0.58, 2.7, 2300, winter=True),
        Diagnosis("J21.0", 6.2, 0, 0, 3, 0.43, 2.9, 2500, winter=True),
        Diagnosis("J44.0", 4.9, 40, 72, 100, 0.56, 4.1, 2500, winter=True),
        Diagnosis("J44.1", 15.5, 40, 70, 100, 0.57, 3.5, 2500, winter=True),
        Diagnosis("J45.901", 5.6, 1, 8, 90, 0.53, 2.3, 2500),
        Diagnosis("J69.0", 4.2, 5, 80, 105, 0.44, 5.7, 3000),
        Diagnosis("J93.9", 1.0, 14, 30, 90, 0.27, 3.9, 2900),
        Diagnosis("J96.01", 12.0, 5, 72, 103, 0.51, 5.0, 3500, winter=True),
    ),
    "Digestive": (
        Diagnosis("K21.9", 1.7, 0, 58, 98, 0.57, 2.0, 2900),
        Diagnosis("K35.80", 6.0, 4, 22, 85, 0.46, 1.6, 6500),
        Diagnosis("K40.90", 1.1, 0, 66, 98, 0.11, 1.6, 6100),
        Diagnosis("K50.90", 2.6, 8, 28, 85, 0.53, 4.0, 3100),
        Diagnosis("K51.90", 1.7, 8, 30, 85, 0.50, 4.4, 3000),
        Diagnosis("K52.9", 3.4, 0, 60, 102, 0.62, 2.5, 2500),
        Diagnosis("K56.609", 8.2, 5, 70, 102, 0.55, 3.5, 2700),
        Diagnosis("K57.32", 7.0, 22, 58, 98, 0.56, 3.1, 2700),
        Diagnosis("K70.30", 2.8, 24, 55, 82, 0.35, 5.2, 3100),
        Diagnosis("K80.00", 6.1, 14, 45, 98, 0.62, 2.5, 6400),
        Diagnosis("K85.90", 7.2, 12, 49, 95, 0.46, 3.6, 2700),
        Diagnosis("K92.2", 9.3, 15, 77, 104, 0.49, 3.2, 3000),
    ),
    "Skin and bones": (
        Diagnosis("L03.115", 5.6, 3, 60, 102, 0.44, 3.5, 2300),
        Diagnosis("L03.116", 5.7, 3, 60, 102, 0.44, 3.5, 2300),
        Diagnosis("L89.154", 1.6, 25, 76, 103, 0.46, 8.7, 2500),
        Diagnosis("M16.11", 7.5, 30, 67, 98, 0.56, 1.4, 19500),
        Diagnosis("M17.11", 10.0, 38, 68, 95, 0.62, 1.4, 18500),
        Diagnosis("M48.061", 3.8, 32, 68, 94, 0.51, 2.4, 15500),
        Diagnosis("M54.50", 1.6, 18, 55, 98, 0.55, 2.7, 2500),
        Diagnosis("M86.9", 2.2, 2, 58, 95, 0.35, 6.6, 3000),
    ),
    "Genitourinary": (
        Diagnosis("N13.6", 3.3, 12, 60, 98, 0.61, 3.0, 3100),
        Diagnosis("N17.9", 17.5, 5, 75, 104, 0.47, 4.1, 2500),
        Diagnosis("N18.6", 1.9, 14, 61, 95, 0.43, 4.5, 3200),
        Diagnosis("N39.0", 12.5, 0, 82, 105, 0.71, 3.3, 2200),
        Diagnosis("N40.1", 2.6, 45, 72, 98, 0.0, 1.6, 4800),
        Diagnosis("N44.00", 0.3, 0, 15, 45, 0.0, 1.1, 6100),
        Diagnosis("N80.9", 0.8, 16, 34, 55, 1.0, 1.7, 5900),
        Diagnosis("N81.4", 1.2, 30, 66, 92, 1.0, 1.3, 6200),
    ),
    "Pregnancy": (
        Diagnosis("O00.109", 0.9, 15, 30, 46, 1.0, 1.3, 6200),
        Diagnosis("O14.14", 4.8, 14, 31, 50, 1.0, 4.0, 2900),
        Diagnosis("O34.211", 14.0, 16, 32, 50, 1.0, 2.9, 4100),
        Diagnosis("O42.02", 11.0, 13, 29, 49, 1.0, 2.6, 3100),
        Diagnosis("O48.0", 11.0, 13, 28, 47, 1.0, 2.5, 3000),
        Diagnosis("O70.1", 13.0, 13, 28, 47, 1.0, 2.3, 2900),
        Diagnosis("O80", 16.0, 13, 28, 48, 1.0, 2.1, 2700),
        Diagnosis("O99.824", 8.5, 13, 29, 48, 1.0, 2.5, 2900),
    ),
    "Birth": (
        Diagnosis("P07.18", 3.2, 0, 0, 0, 0.50, 19.0, 3500),
        Diagnosis("P22.0", 1.7, 0, 0, 0, 0.43, 22.0, 3900),
        Diagnosis("P59.9", 2.2, 0, 0, 0, 0.45, 2.5, 2100),
        Diagnosis("Z38.00", 68.0, 0, 0, 0, 0.49, 2.6, 1800),
        Diagnosis("Z38.01", 33.0, 0, 0, 0, 0.49, 4.0, 1900),
        Diagnosis("Z38.31", 1.6, 0, 0, 0, 0.50, 8.5, 2500),
    ),
    "Injuries": (
        Diagnosis("S06.5X0A", 3.7, 0, 79, 104, 0.42, 4.7, 4300),
        Diagnosis("S22.41XA", 1.8, 14, 68, 102, 0.40, 3.5, 3800),
        Diagnosis("S32.010A", 1.5, 14, 79, 103, 0.62, 3.7, 3300),
        Diagnosis("S42.301A", 0.9, 1, 68, 102, 0.60, 2.9, 5300),
        Diagnosis("S72.001A", 7.8, 20, 85, 105, 0.69, 3.8, 7900),
        Diagnosis("S72.141A", 6.9, 20, 86, 105, 0.70, 3.9, 7800),
        Diagnosis("S82.851A", 2.6, 10, 52, 96, 0.60, 2.5, 7500),
        Diagnosis("T40.1X1A", 1.7, 16, 36, 72, 0.29, 2.7, 3200),
        Diagnosis("T81.49XA", 3.0, 5, 60, 95, 0.52, 5.0, 3200),
        Diagnosis("T84.51XA", 1.2, 30, 68, 95, 0.48, 4.7, 8800),
    ),
    "Aftercare": (
        Diagnosis("Z47.1", 2.5, 30, 73, 100, 0.62, 8.3, 1900),
        Diagnosis("Z51.11", 5.2, 2, 58, 92, 0.46, 4.0, 5200),
    ),
}
DIAGNOSES = tuple(chain.from_iterable(CHAPTERS.values()))


def _zip_codes() -> Iterator[ZipCode]:
    """About one code per 10,000 inhabitants, at least 12; within a county their populations follow a power law."""
    for number, county in enumerate(COUNTIES):
        codes = min(max(county.population // 10, 12), 100 * len(county.prefixes))
        weights = [1 / (rank + 4) for rank in range(codes)]
        for rank, weight in enumerate(weights):
            suffix, prefix = divmod(rank, len(county.prefixes))
            # 37 is coprime to 100: large and small codes mix.
            code = f"{county.prefixes[prefix]}{(37 * suffix + 1) % 100:02}"
            yield ZipCode(code, number, county.population * weight / sum(weights))


ZIP_CODES = tuple(_zip_codes())
