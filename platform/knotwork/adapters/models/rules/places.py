"""Countries, states and large cities: names that are a place in every text, whatever stands beside them."""

from __future__ import annotations

from typing import Final

_LISTED: Final = """
afghanistan albania algeria andorra angola argentina armenia australia austria azerbaijan bahamas bahrain
bangladesh barbados belarus belgium belize benin bhutan bolivia bosnia_and_herzegovina botswana brazil brunei
bulgaria burkina_faso burundi cambodia cameroon canada chile china colombia costa_rica croatia cuba cyprus
czech_republic denmark dominican_republic ecuador egypt el_salvador england eritrea estonia ethiopia fiji
finland france gabon gambia germany ghana greece guatemala guinea guyana haiti honduras hungary iceland india
indonesia iran iraq ireland israel italy ivory_coast jamaica japan kazakhstan kenya kosovo kuwait kyrgyzstan
laos latvia lebanon lesotho liberia libya liechtenstein lithuania luxembourg madagascar malawi malaysia mali
malta mauritania mauritius mexico moldova monaco mongolia montenegro morocco mozambique myanmar namibia nepal
netherlands new_zealand nicaragua niger nigeria north_korea north_macedonia northern_ireland norway oman
pakistan palestine panama papua_new_guinea paraguay peru philippines poland portugal qatar romania russia
rwanda saudi_arabia scotland senegal serbia singapore slovakia slovenia somalia south_africa south_korea
soviet_union spain sri_lanka sudan sweden switzerland syria taiwan tajikistan tanzania thailand togo tunisia
turkey turkmenistan uganda uk ukraine united_arab_emirates united_kingdom united_states u.s. us usa uruguay
united_states_of_america uzbekistan venezuela vietnam wales yemen yugoslavia zambia zimbabwe africa asia
europe north_america south_america antarctica alabama alaska arizona arkansas california colorado connecticut
delaware florida hawaii idaho illinois indiana iowa kansas kentucky louisiana maine maryland massachusetts
michigan minnesota mississippi missouri montana nebraska nevada new_hampshire new_jersey new_mexico new_york
new_york_city north_carolina north_dakota ohio oklahoma oregon pennsylvania rhode_island south_carolina
south_dakota tennessee texas utah vermont west_virginia wisconsin wyoming ontario quebec british_columbia
new_south_wales queensland tasmania amsterdam athens bangkok barcelona beijing berlin boston brussels budapest
cairo chicago copenhagen delhi dublin edinburgh geneva hamburg hong_kong istanbul jerusalem lisbon liverpool
london los_angeles madrid manchester melbourne milan montreal moscow mumbai munich naples oslo paris
philadelphia prague rome san_francisco seattle seoul shanghai stockholm sydney tokyo toronto vancouver venice
vienna warsaw zurich
"""

PLACES: Final = frozenset(name.replace("_", " ") for name in _LISTED.split())
"""Case folded. Names that are also common names of people (`Georgia`, `Jordan`, `Chad`, `Washington`) are left out."""
