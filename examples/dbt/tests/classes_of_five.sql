-- The policy promises five patients in each class: this finds a class that has fewer.
select age, sex, zip_code, count(*) as records
from {{ source('released', 'discharges_released') }}
group by age, sex, zip_code
having count(*) < 5
