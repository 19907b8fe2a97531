"""Sentences of the kind voice agents speak, made from templates with a fixed seed.

The public-domain sources of `texts.py` lack questions, numbers, money, times, names, greetings, spelled codes and
one-word answers; this module supplies them. Every word is ours (Apache-2.0, like the rest of the project).
"""

import random

NAMES = (
    "Anna Maria John Sarah David Emma Michael Olivia James Sophia Robert Mia Daniel Laura Thomas Julia Peter Grace "
    "Kevin Hannah Oliver Nora Samuel Alice Henry Clara Lucas Ruby George Ella Victor Amelia Simon Diana Martin Rosa"
).split()
SURNAMES = (
    "Smith Johnson Miller Brown Taylor Anderson Clark Lewis Walker Hall Young King Wright Lopez Hill Green Adams "
    "Baker Nelson Carter Mitchell Roberts Turner Phillips Parker Evans Edwards Collins Stewart Morris Murphy Cook"
).split()
CITIES = (
    "London Paris Berlin Boston Chicago Denver Seattle Dallas Toronto Madrid Rome Tokyo Sydney Dublin Oslo Vienna "
    "Atlanta Houston Phoenix Portland Austin Miami Prague Lisbon Athens Cairo Mumbai Singapore Amsterdam Brussels"
).split()
MONTHS = "January February March April May June July August September October November December".split()
DAYS = "Monday Tuesday Wednesday Thursday Friday Saturday Sunday".split()
ITEMS = (
    "a table for two|your order|the package|a new card|the invoice|your appointment|the report|a refund|the tickets|"
    "your password|the blue jacket|a large coffee|the rental car|your subscription|the meeting room|a spare key|"
    "the contract|your account|the printer|a birthday cake|the delivery|your reservation|the insurance policy|"
    "a window seat|the warranty|your phone number|the email address|a follow-up call|the gift card|your booking"
).split("|")
THINGS = (
    "weather|traffic|battery|connection|price|schedule|menu|balance|signal|order status|flight|train|doctor|"
    "school|office|library|hotel|restaurant|garden|kitchen|software|camera|keyboard|screen|engine|bridge|market"
).split("|")
ADJECTIVES = (
    "ready|late|available|busy|open|closed|free|full|correct|wrong|cheap|expensive|safe|quiet|fast|slow|clean|"
    "important|possible|easy|difficult|interesting|perfect|broken|missing|delayed|confirmed|cancelled|complete"
).split("|")
VERBS = (
    "check|change|cancel|confirm|update|send|find|move|repeat|explain|book|pay for|return|replace|review|track|"
    "open|close|read|save|print|share|order|pick up|deliver|describe|renew|upgrade|activate|download"
).split("|")
SHORT = (
    "Yes.|No.|Okay.|Sure.|Hello!|Hi there!|Goodbye.|Thanks!|Thank you.|Please.|Sorry.|Right.|Great!|Wonderful!|"
    "Exactly.|Of course.|Maybe.|Never.|Always.|Perfect.|One moment.|Got it.|I see.|Really?|Why?|When?|Where?|"
    "How so?|Go on.|Welcome back!|Good morning.|Good evening.|Good night.|No problem.|Absolutely.|Not yet.|"
    "Just a second.|All right.|Well done!|Take care.|See you soon.|That's right.|Let me see.|Hold on.|Ready?|"
    "Done.|Stop.|Wait.|Next.|Again?|Tomorrow.|Today.|Maybe later.|I think so.|I hope not.|Come in.|Sounds good.|"
    "Monday.|Twelve.|Twenty five.|One hundred.|Three.|Seven.|Zero.|Excuse me?|Pardon?|Let's go!|Good luck!"
).split("|")
PATTERNS = (
    "Hello {name}, how can I help you today?|Hi, this is {name} from the {city} office.|"
    "Would you like me to {verb} {item}?|Could you please {verb} {item} before {day}?|"
    "I have booked {item} for {day}, {month} {dom}.|Your appointment is on {day} at {time}.|"
    "The total comes to {money}.|That will be {money}, please.|Your balance is {money} as of {month} {dom}.|"
    "The {thing} is {adj} right now.|Is the {thing} {adj} today?|Why is the {thing} so {adj}?|"
    "Your confirmation code is {code}.|The reference number is {code}, shall I repeat it?|"
    "Please call {phone} after {time}.|You can reach {name} {surname} at {phone}.|"
    "The flight to {city} leaves at {time} from gate {small}.|The train from {city} to {city2} takes {small} hours.|"
    "There are {number} people waiting in line.|We sold {number} units in {month}.|"
    "It costs {money}, but you get {percent} off.|About {percent} of our customers agree.|"
    "Did you say {small} or {small2}?|I heard {name}, is that correct?|Sorry, did you mean {city} or {city2}?|"
    "What time does the {thing} open on {day}?|Where can I find the {thing}?|How do I {verb} {item}?|"
    "When would you like to {verb} {item}?|Who should I ask about the {thing}?|Which {thing} do you prefer?|"
    "Let me {verb} {item} for you.|I will {verb} {item} right away.|I'm afraid the {thing} is {adj}.|"
    "No problem, I can {verb} {item}.|Sure, I'll {verb} {item} on {day}.|"
    "{name} {surname} was born on {month} {dom}, {year}.|The company was founded in {year} in {city}.|"
    "It is {degrees} degrees in {city}, and the sky is {sky}.|Tomorrow will be {sky} with a high of {degrees}.|"
    "Press {small} to {verb} {item}.|To {verb} {item}, say yes.|If you want to {verb} {item}, please stay on the line.|"
    "Thanks for waiting, {name}.|Good morning, {name}! Did you sleep well?|Welcome to {city}!|"
    "Dr. {surname} will see you at {time}.|Mr. {surname} called about {item}.|Mrs. {surname} lives in {city}.|"
    "My name is spelled {spell}.|The password is {spell}, all capital letters.|"
    "Okay, so you want to {verb} {item}, and then {verb2} {item2}?|First, {verb} {item}. Then {verb2} {item2}.|"
    "The meeting moved from {day} to {day2}.|It's {time} in {city}.|See you on {day} at {time}!|"
    "I've sent {item} to {name}.|Don't forget to {verb} {item}!|Please don't {verb} {item} yet.|"
    "You have {small} new messages and {small2} missed calls.|The room is on floor {small}, number {room}.|"
    "Your package weighs {decimal} pounds.|The answer is {decimal}.|We need {number} more.|"
    "Oh no, the {thing} is {adj} again!|Wow, that's {adj}!|That sounds {adj} to me.|"
    "Well, I think the {thing} is {adj}, isn't it?|Yes, the {thing} is {adj}.|No, the {thing} isn't {adj}.|"
    "Turn left onto {surname} Street and drive {small} miles.|The nearest {thing} is {small} minutes away.|"
    "Anything else I can do for you, {name}?|Can I have your date of birth, please?|"
    "Can you hear me, {name}?|Are you still there?|I didn't catch that, could you say it again?"
).split("|")
SKIES = "clear|cloudy|rainy|sunny|stormy|partly cloudy|foggy|windy".split("|")
LETTERS = "ABCDEFGHIJKLMNOPQRSTUVWXYZ"


def agent_sentences(count: int, seed: int = 20) -> list[str]:
    """Return `count` different sentences: the short answers first, then filled templates."""
    rng = random.Random(seed)
    sentences = dict.fromkeys(SHORT)
    while len(sentences) < count:
        sentences[_fill(rng.choice(PATTERNS), rng)] = None
    return list(sentences)[:count]


def _fill(pattern: str, rng: random.Random) -> str:
    hour, minute = rng.randint(1, 12), rng.choice(("00", "15", "30", "45", "05", "20", "50"))
    fields = {
        "name": rng.choice(NAMES),
        "surname": rng.choice(SURNAMES),
        "city": rng.choice(CITIES),
        "city2": rng.choice(CITIES),
        "day": rng.choice(DAYS),
        "day2": rng.choice(DAYS),
        "month": rng.choice(MONTHS),
        "dom": str(rng.randint(1, 28)),
        "year": str(rng.randint(1900, 2029)),
        "time": rng.choice((f"{hour}:{minute} {rng.choice(('a.m.', 'p.m.'))}", f"{hour} o'clock", f"{hour}:{minute}")),
        "money": rng.choice((f"${rng.randint(1, 999)}.{rng.randint(1, 99):02d}", f"${rng.randint(2, 90000):,}")),
        "percent": f"{rng.randint(1, 99)}%",
        "number": f"{rng.choice((rng.randint(13, 999), rng.randint(1000, 99999))):,}",
        "small": str(rng.randint(2, 12)),
        "small2": str(rng.randint(13, 60)),
        "room": str(rng.randint(101, 999)),
        "decimal": f"{rng.randint(0, 99)}.{rng.randint(1, 9)}",
        "degrees": str(rng.randint(5, 99)),
        "phone": ", ".join(" ".join(rng.choices("0123456789", k=k)) for k in (3, 4)),
        "code": "-".join(rng.choice(LETTERS + "23456789") for _ in range(rng.randint(3, 6))),
        "spell": "-".join(rng.choice(LETTERS) for _ in range(rng.randint(3, 7))),
        "sky": rng.choice(SKIES),
        "item": rng.choice(ITEMS),
        "item2": rng.choice(ITEMS),
        "thing": rng.choice(THINGS),
        "adj": rng.choice(ADJECTIVES),
        "verb": rng.choice(VERBS),
        "verb2": rng.choice(VERBS),
    }
    return pattern.format(**fields)
