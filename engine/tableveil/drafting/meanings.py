"""Guesses from the name of a column what it holds, in several languages."""

import re
import unicodedata
from collections.abc import Iterator
from enum import Enum


class Meaning(Enum):
    """The meaning of a column's values; the enum's value is its wording for people."""

    IDENTIFIER = "a number, name or address of one person"
    FREE_TEXT = "free text"
    AGE = "an age"
    SEX = "a sex or gender"
    BIRTH = "a birth"
    ORIGIN = "an origin, ethnicity or nationality"
    PLACE = "a place"
    POSTAL_CODE = "a postal code"
    DATE = "a date"
    FAMILY = "a family or household"
    EDUCATION = "an education"
    WORK = "an occupation"
    HEALTH = "a health condition or treatment"
    DURATION = "a length of time"
    INSURER = "an insurer"
    MONEY = "an amount of money"
    BELIEF = "a belief, sexual orientation, offence or other intimate fact"
    WEIGHT = "a survey weight"
    TECHNICAL = "a mark of how the row was made"


# Words as they stand in names: lower case, without accents; English first, then German, French, Spanish, Italian,
# Portuguese and Dutch where they differ. Several words of an entry follow each other. Among entries of equally many
# words, the earlier one wins.
_WORDS: dict[Meaning, str] = {
    Meaning.IDENTIFIER: """
        ssn sin nino nhs mrn email e-mail mail phone telephone mobile fax passport iban account accountnumber license
        licence plate vin ip url username login surname firstname lastname forename fullname middlename maidenname
        address street house-number street-number signature photo device serial social-security tax-id
        loan-id household-id hh-id hhid fam-id famid pid hid
        first-name last-name given-name family-name middle-name maiden-name full-name user-name nick-name nickname
        person-id patient-id customer-id client-id member-id user-id employee-id subject-id student-id
        case-id visit-id encounter-id episode-id case-nr visit-nr case-no visit-no case-number visit-number
        medical-record record-number account-number card-number credit-card national-id health-plan
        insurance-number insurance-id insurance-no insurance-nr insurance-policy policy-number policy-holder
        vorname nachname familienname geburtsname strasse hausnummer telefon handy anschrift adresse ausweis steuer-id
        versichertennummer kvnr sozialversicherungsnummer kundennummer personalnummer kontonummer
        versicherungsnummer krankenversicherungsnummer krankenversichertennummer versicherung-nr versicherung-nummer
        krankenversicherung-nr krankenversicherung-nummer numero-assurance numero-d-assurance numero-de-seguro
        numero-seguro numero-de-poliza numero-de-police
        prenom nom-de-famille telephone courriel rue adresse numero-de-securite-sociale nir
        apellido apellidos direccion calle correo telefono dni nif movil
        cognome indirizzo codice-fiscale cellulare sobrenome endereco cpf achternaam voornaam straat bsn
    """,
    Meaning.BIRTH: """
        birth birthdate birthday dob born date-of-birth birth-date birth-year year-of-birth birth-month yob
        geburtsdatum geburtstag geburtsjahr geboren date-de-naissance naissance annee-de-naissance nacimiento
        fecha-de-nacimiento ano-de-nacimiento nascita data-di-nascita nascimento geboortedatum geboortejaar
    """,
    Meaning.AGE: "age ages agep agegroup age-group alter lebensalter edad eta idade leeftijd altersgruppe",
    Meaning.SEX: "sex gender geschlecht sexe genre sexo genero sesso genere geslacht",
    Meaning.ORIGIN: """
        race rac-p ethnicity ethnic ethnic-group nationality citizenship native-country country-of-birth birthplace
        birth-place place-of-birth language mother-tongue immigrant tribe caste ancestry hispanic origin
        staatsang staatsburgerschaft
        nationalitat staatsangehorigkeit geburtsort geburtsland herkunft sprache muttersprache
        nationalite origine lieu-de-naissance pays-de-naissance langue nacionalidad etnia raza origen idioma
        nazionalita cittadinanza razza etnicidade raca nationaliteit herkomst
    """,
    Meaning.POSTAL_CODE: """
        zip zipcode zip-code postcode post-code postal-code postalcode plz postleitzahl code-postal codepostal cp
        codigo-postal cap codice-postale cep
    """,
    Meaning.PLACE: """
        city town village county state province region district municipality country location place neighborhood
        neighbourhood latitude longitude lat lon lng geo census-tract tract fips residence suburb canton
        stadt ort wohnort gemeinde kreis landkreis bezirk bundesland land ville commune departement pays canton
        ciudad municipio provincia entidad localidad pais estado comuna citta comune regione cidade plaats gemeente
        provincie
    """,
    Meaning.FAMILY: """
        marital mar marital-status maritalstatus civil-status relationship household household-size children kids
        married hhsize hh-size filing-status dependents spouse family siblings
        familienstand haushalt kinder haushaltsgrosse etat-civil situation-familiale menage enfants
        estado-civil hogar hijos stato-civile figli filhos burgerlijke-staat huishouden
    """,
    Meaning.EDUCATION: """
        education educ educational degree school schl schooling grade diploma university
        bildung schulabschluss abschluss ausbildung etudes niveau-etude educacion estudios escolaridad istruzione
        escolaridade opleiding
    """,
    Meaning.WORK: """
        occupation profession job job-title title employer workclass work-class industry employment department
        emp-length military veteran rank occp indp naics
        beruf tatigkeit arbeitgeber branche metier emploi ocupacion profesion empleo professione lavoro profissao
        beroep
    """,
    Meaning.HEALTH: """
        diagnosis diagnoses dx diagnostic icd icd9 icd10 disease condition disorder symptom allergy medication drug
        prescription treatment procedure therapy surgery lab lab-result test-result result blood-pressure bmi
        disability hiv cancer vaccine smoker mental health comorbidity genotype mutation pregnancy
        hba-c hb-a-c hemoglobin haemoglobin glucose cholesterol creatinine
        diagnose hauptdiagnose nebendiagnose aufnahmediagnose laborwert laborwerte blutdruck blutzucker glukose
        cholesterin kreatinin hamoglobin hemoglobine glycemie creatinine tension-arterielle hemoglobina glucemia
        colesterol creatinina tension-arterial presion-arterial
        krankheit erkrankung medikament behandlung befund therapie symptome behinderung
        maladie traitement medicament sante diagnostico enfermedad tratamiento medicamento salud
        diagnosi malattia trattamento farmaco salute doenca tratamento saude ziekte behandeling
        diabetes hypertension asthma copd pneumonia obesity tuberculosis depression epilepsy stroke tumor tumour
        hepatitis malaria covid anemia anaemia migraine dementia cardiovascular immunosuppression renal arthritis
        alzheimer parkinson heart-disease heart-attack heart-failure infarct angina sclerosis leukemia leukaemia
        lymphoma
        schizophrenia autism cirrhosis ulcer sepsis care-level
        smoking tobacco alcohol intubated icu results adverse-event adverse-events serious-adverse-event any-sae sae
        saeyn ae aeyn aeterm aedecod serious dthfl loinc pregnant
        demenz pflegegrad pflegestufe herzinfarkt herzinsuffizienz infarkt leukamie autismus rheuma
        demence demencia demenza dementie infarctus infarto leucemie leucemia autisme autismo
        bluthochdruck hypertonie zuckerkrankheit lungenentzundung adipositas krebs schlaganfall epilepsie ergebnis
        testergebnis nebenwirkung nebenwirkungen unerwunschtes-ereignis raucher intubiert schwangerschaft schwanger
        diabete asthme pneumonie obesite resultat effet-indesirable evenement-indesirable fumeur grossesse enceinte
        hipertension asma neumonia epoc obesidad tabaquismo inmusupr embarazo embarazada resultado intubado uci
        evento-adverso hipertensao obesidade tabagismo gravidez gestante cancro
        ipertensione polmonite obesita fumatore gravidanza esito risultato evento-avverso tumore
        hypertensie suikerziekte astma longontsteking obesitas roker zwangerschap zwanger uitslag bijwerking kanker
    """,
    Meaning.DURATION: """
        length-of-stay days-of-stay stay-days verweildauer aufenthaltsdauer liegedauer liegetage behandlungsdauer
        duree-de-sejour duree-sejour duree-d-hospitalisation dias-de-estancia duracion-de-la-estancia
        duracion-estancia estancia
    """,
    Meaning.INSURER: """
        insurer insurance payer payor krankenkasse krankenkassen kasse krankenversicherung versicherung versicherer
        kostentrager assurance assureur mutuelle aseguradora seguro mutua obra-social
    """,
    Meaning.MONEY: """
        income salary wage wages earnings pay charge charges cost costs price amount payment balance debt loan credit
        revenue turnover premium capital-gain capital-loss rent pension benefit net-worth credit-score
        einkommen gehalt lohn betrag kosten preis schulden umsatz rente revenu salaire montant cout dette
        ingreso ingresos salario sueldo importe precio coste deuda reddito stipendio importo costo renda
        fico agi int-rate interest-rate inkomen salaris bedrag rendimento revenus annual-inc dti wagp pincp hincp
    """,
    Meaning.BELIEF: """
        religion religious denomination party political vote sexual-orientation orientation union union-membership
        offence offense crime conviction arrest sentence
        konfession partei gewerkschaft straftat religione religiao religie delito voto
        recid recidivism charge-degree charge-desc score-text risk-score decile-score
        religionszugehorigkeit sexuelle-orientierung parti parti-politique orientation-sexuelle syndicat
        partido partido-politico orientacion-sexual sindicato orientacao-sexual partito orientamento-sessuale sindacato
        partij politieke-partij geloof seksuele-geaardheid geaardheid vakbond
    """,
    Meaning.FREE_TEXT: """
        note notes comment comments remark remarks description free-text freetext text message narrative memo details
        notiz notizen bemerkung bemerkungen kommentar beschreibung freitext commentaire remarque observacion
        observaciones comentario descripcion
    """,
    Meaning.WEIGHT: "weight-survey survey-weight sample-weight sampling-weight fnlwgt pweight gewichtung ponderation",
    Meaning.TECHNICAL: """
        created-at updated-at modified-at inserted-at loaded-at load-id batch batch-id version etl source-system
        currency unit checksum
    """,
    # Words that say little come after all others.
    Meaning.DATE: "date datum fecha data dato admission discharge visit timestamp time datetime day month year",
}
_LAST_WORDS = {
    Meaning.IDENTIFIER: """
        id uid uuid guid identifier key name names nom nombre nome naam kennung nummer nr number numero code-id
    """,
    Meaning.DURATION: "duration dauer duree duracion",
}


def _entries(words: str) -> Iterator[tuple[str, ...]]:
    return (tuple(entry.split("-")) for entry in words.split())


_ENTRIES = [
    (entry, meaning) for table in (_WORDS, _LAST_WORDS) for meaning, words in table.items() for entry in _entries(words)
]
# The longest first; the sort keeps the order of those that are equally long.
_ENTRIES.sort(key=lambda known: -len(known[0]))
_RANKED = {entry: (rank, meaning) for rank, (entry, meaning) in reversed(list(enumerate(_ENTRIES)))}
_LONGEST_ENTRY = len(_ENTRIES[0][0])
_JOINED = {"".join(entry): meaning for entry, meaning in reversed(_ENTRIES)}

_CAMEL = re.compile(r"(?<=[a-z0-9])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])")
_BETWEEN = re.compile(r"[^a-z0-9]+|(?<=[a-z])(?=[0-9])|(?<=[0-9])(?=[a-z])")
_MOST_CHARACTERS = 200
"""Names are searched up to this length only."""


def words_of(name: str) -> tuple[str, ...]:
    """The words of a name in lower case without accents: `zipCode`, `ZIP_CODE` and `zip code 2` all have zip, code."""
    spaced = _CAMEL.sub(" ", name[:_MOST_CHARACTERS])
    # Sharp s has no accent to lose.
    plain = unicodedata.normalize("NFKD", spaced.replace("ß", "ss")).casefold()
    letters = "".join(letter for letter in plain if not unicodedata.combining(letter))
    return tuple(word for word in _BETWEEN.split(letters) if word and not word.isdigit())


def meaning_of(name: str) -> Meaning | None:
    """The meaning that a column's name suggests; None if it suggests none.

    The matching entry with the most words decides. `county_name` is a place and `name` a name: general words such as
    name and id come last.
    """
    words = words_of(name)
    if meaning := _JOINED.get("".join(words)):
        return meaning
    parts = (words[i : i + length] for length in range(1, _LONGEST_ENTRY + 1) for i in range(len(words)))
    _, meaning = min((_RANKED[part] for part in parts if part in _RANKED), default=(0, None))
    return meaning
