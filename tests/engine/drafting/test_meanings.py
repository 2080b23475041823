"""Meanings guessed from names of columns, in several languages and spellings."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tableveil.drafting import Meaning, meaning_of


@pytest.mark.parametrize(
    ("meaning", "names"),
    [
        (Meaning.IDENTIFIER, "name patient_id PatientID e-mail Email phone1 Nachname apellidos nom_de_famille Straße"),
        (Meaning.IDENTIFIER, "insurance_number Versicherungsnummer Krankenversicherung-Nr numéro_d_assurance número"),
        (Meaning.AGE, "age AGE age_group ageGroup Alter edad age_2"),
        (Meaning.SEX, "sex Gender geschlecht sexe genero"),
        (Meaning.BIRTH, "dob date_of_birth birthDate Geburtsdatum fechaDeNacimiento annee_de_naissance"),
        (Meaning.POSTAL_CODE, "zip zipcode ZIP_CODE zip5 PLZ codePostal codigo_postal"),
        (Meaning.PLACE, "county county_name State ville Wohnort latitude ENTIDAD_RES localidad"),
        (Meaning.ORIGIN, "race ethnicity native-country nationalité Nationalität"),
        (Meaning.DATE, "admission_date date_of_death Datum"),
        (Meaning.FAMILY, "marital-status Familienstand estadoCivil married hhsize filing_status"),
        (Meaning.HEALTH, "diagnosis ICD10 icd10_code Medikament Hauptdiagnose"),
        (Meaning.HEALTH, "HbA1c hba1c HbA1c_Wert Blutzucker glycémie colesterol"),
        (Meaning.DURATION, "Verweildauer Verweildauer_Tage length_of_stay durée_de_séjour DíasDeEstancia duration"),
        (Meaning.INSURER, "Krankenkasse insurer Kostenträger mutuelle aseguradora krankenkassen_name"),
        (Meaning.MONEY, "salary charge annual_income Gehalt capital-gain"),
        (Meaning.BELIEF, "religion Konfession sexual_orientation"),
        (Meaning.FREE_TEXT, "notes visit_comments Bemerkung"),
        (Meaning.WEIGHT, "fnlwgt sample_weight"),
        (Meaning.TECHNICAL, "created_at batch_id loadId"),
        (None, "x foo package image hostage stage hours_per_week 1 _ 数"),
    ],
    ids=lambda value: value.name if isinstance(value, Meaning) else "",
)  # fmt: skip
def test_names(meaning: Meaning | None, names: str) -> None:
    assert {name: meaning_of(name) for name in names.split()} == dict.fromkeys(names.split(), meaning)


@given(st.text(max_size=300))
def test_any_name_is_read(name: str) -> None:
    found = meaning_of(name)
    assert found is None or isinstance(found, Meaning)


def test_a_long_name_is_read_at_its_beginning() -> None:
    assert meaning_of("age " + "x" * 10_000) is Meaning.AGE


@pytest.mark.parametrize(
    ("meaning", "names"),
    [
        (Meaning.EDUCATION, "educ"),
        (Meaning.WORK, "emp_length emp_title"),
        (Meaning.MONEY, "int_rate fico_range agi"),
        (
            Meaning.HEALTH,
            "dx DIABETES HIPERTENSION INTUBADO TABAQUISMO Resultado Any.SAE. AEDECOD adverse_event Bluthochdruck "
            "Testergebnis Nebenwirkungen hypertension_artérielle asthme effet_indésirable grossesse neumonía obesidad "
            "hipertensão gestante evento_adverso ipertensione polmonite esito_tampone suikerziekte zwanger uitslag",
        ),
        (
            Meaning.BELIEF,
            "party Religionszugehörigkeit sexuelle_Orientierung parti_politique orientation_sexuelle partido "
            "orientación_sexual religião sindicato partito orientamento_sessuale partij geloof vakbond is_recid",
        ),
        (Meaning.MONEY, "annual_inc Einkommen revenus ingresos rendimento reddito inkomen WAGP PINCP"),
    ],
)
def test_the_names_of_what_is_sensitive_in_seven_languages(meaning: Meaning, names: str) -> None:
    assert {name: meaning_of(name) for name in names.split()} == dict.fromkeys(names.split(), meaning)
