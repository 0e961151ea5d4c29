"""Replies, what was shown before them, and which of it they used: in several languages."""

from typing import NamedTuple


class Told(NamedTuple):
    """What was asked, what was shown, what was replied, and the places of the memories that the reply used."""

    asked: str
    shown: tuple[str, ...]
    reply: str
    used: tuple[int, ...] = ()


ADA = (
    "Ada lives in Turku.",
    "Ada works as a nurse at the children's hospital.",
    "Ada is allergic to penicillin.",
    "Ada plays the cello every Tuesday.",
)
KEYS = "Ada keeps the spare keys in the blue cupboard beside the kitchen door and waters the plants on Mondays."
MOVE = "Ada moved to Lisbon in May 2024 with her sister, where she works for a bakery and rents a flat near the river."

BY_WORDS = [
    Told("Where does Ada live?", ADA, "She lives in Turku.", (0,)),
    Told("Where does Ada live?", ADA, "I don't know where Ada lives."),
    Told("Where does Ada live?", ADA, "Turku.", (0,)),
    Told("What does Ada do?", ADA, "She is a nurse; she works at the children's hospital.", (1,)),
    Told("Which medicine must she not be given?", ADA, "Penicillin: she is allergic to it.", (2,)),
    Told("Tell me about Ada", ADA, "Ada is a nurse in Turku. On Tuesdays she plays the cello.", (0, 1, 3)),
    Told("How are you?", ADA, "I'm fine, thank you! What can I do for you today?"),
    Told("What is 2 + 2?", ADA, "2 + 2 is 4."),
    Told("Does Ada work on Tuesday?", ADA, "I have no information about her shifts."),
    Told("Where are the spare keys?", (KEYS,), "They are in the blue cupboard.", (0,)),
    Told("Where are the spare keys?", (KEYS,), "I'm not sure where the spare keys are."),
    Told("Where did Ada move?", (MOVE, "Bo moved to Oslo in 2019."), "She moved to Lisbon.", (0,)),
    Told("When did Bo move?", (MOVE, "Bo moved to Oslo in 2019."), "That was in 2019.", (1,)),
    Told(
        "Whose birthday is in June?",
        ("Linnea's birthday is 8 June.", "Bo was born on 3 May."),
        "Linnea's, on June 8th.",
        (0,),
    ),
    Told("How many cats has Bo?", ("Bo has three cats.", "Bo has two bikes."), "Bo has 3 cats.", (0,)),
    Told("What time is the meeting?", ("The meeting is at 14:30 in room B7.",), "At 14:30.", (0,)),
    Told("What does Bo do all day?", ("Ada runs every day before work.",), "Bo works every day until five."),
    Told("Does Ada like tea?", ("Ada likes tea.",), "Yes, Ada likes tea.", (0,)),
    Told("Does Ada like tea?", ("Ada likes tea.",), "I could not say."),
    Told(
        "What should I cook?",
        ("Bo is vegetarian.", "The stove is broken."),
        "Since Bo is vegetarian, how about a curry?",
        (0,),
    ),
    Told("Which server is it?", ("The staging server is web-07.example.org.",), "Log in to web-07.example.org.", (0,)),
    Told("What is the weather like?", ("Ada moved to Lisbon.",), "It is sunny and 21 degrees."),
    Told("Wo wohnt Ada?", ("Ada wohnt in Turku.", "Ada arbeitet als Krankenschwester."), "Sie wohnt in Turku.", (0,)),
    Told("Wo wohnt Ada?", ("Ada wohnt in Turku.",), "Das weiß ich leider nicht."),
    Told(
        "Wie heißt die Katze?",
        ("Die Katze heißt Mia und ist drei Jahre alt.",),
        "Das ist eine gute Frage, und ich weiß es nicht.",
    ),
    Told("Wie heißt die Katze?", ("Die Katze heißt Mia und ist drei Jahre alt.",), "Sie heißt Mia.", (0,)),
    Told("Was darf Ada nicht essen?", ("Ada verträgt keine Nüsse.", "Bo mag grünen Tee."), "Keine Nüsse!", (0,)),
    Told("Où habite Ada ?", ("Ada habite à Lyon.", "Ada travaille dans une boulangerie."), "Elle habite à Lyon.", (0,)),
    Told("Où habite Ada ?", ("Ada habite à Lyon.",), "Je ne sais pas où elle habite."),
    Told("Que fait Ada ?", ("Ada travaille dans une boulangerie.",), "Elle travaille dans une boulangerie.", (0,)),
    Told("¿Dónde vive Ada?", ("Ada vive en Sevilla.", "Ada toca el violonchelo."), "Vive en Sevilla.", (0,)),
    Told("¿Dónde vive Ada?", ("Ada vive en Sevilla.",), "No lo sé."),
    Told("艾达住在哪里？", ("艾达住在图尔库。", "艾达对青霉素过敏。"), "她住在图尔库。", (0,)),
    Told("艾达住在哪里？", ("艾达住在图尔库。",), "我不知道她住在哪里。"),
    Told("艾达搬到哪里了？", ("艾达五月和妹妹一起搬到里斯本，在一家面包店工作。",), "她和妹妹一起搬到里斯本了。", (0,)),
    Told("我不能吃什么？", ("用户对花生过敏。", "用户喜欢绿茶。"), "你对花生过敏，所以不要吃花生酱。", (0,)),
    Told(
        "エイダはどこに住んでいますか？",
        ("エイダはトゥルクに住んでいます。", "エイダはペニシリンにアレルギーがあります。"),
        "トゥルクに住んでいます。",
        (0,),
    ),
    Told("エイダはどこに住んでいますか？", ("エイダはトゥルクに住んでいます。",), "すみません、分かりません。"),
    Told(
        "에이다는 어디에 살아?",
        ("에이다는 투르쿠에 산다.", "에이다는 페니실린 알레르기가 있다."),
        "투르쿠에 살아요.",
        (0,),
    ),
    Told("에이다는 어디에 살아?", ("에이다는 투르쿠에 산다.",), "잘 모르겠어요."),
    Told("What is the party motto? 🎉", ("The party's motto is 🦉 and 🌙.",), "It is 🦉 and 🌙!", (0,)),
]

BY_MEANING = [
    Told("What should I know before lunch?", ("Ada never eats meat.",), "Ada is a vegetarian.", (0,)),
    Told("How does Bo get to work?", ("Bo cycles to the office.",), "Bo goes to work by bike.", (0,)),
    Told("How does Bo get to work?", ("Bo cycles to the office.",), "I don't know how Bo gets to work."),
    Told("How does Bo get to work?", ("Bo cycles to the office.",), "Do you know how Bo gets to work?"),
    Told("What about Ada?", ("Ada never eats meat.",), "Ada won the race."),
]

OFFICE = (
    "Linnea prefers morning meetings, never before 8.",
    "The deploy key is stored in the team vault.",
    "Bo's daughter Mira starts school in August.",
    "Linnea drives a red Volvo.",
    "The office coffee machine takes only beans.",
)

# Written after the test was; three more of these it does not see.
UNSEEN = [
    Told("When should I schedule the call with Linnea?", OFFICE, "How about Thursday at 15:00?"),
    Told("Where is the deploy key?", OFFICE, "It's in the team vault.", (1,)),
    Told(
        "Can you write a haiku about rain?",
        OFFICE,
        "Soft rain on the roof / the garden drinks in silence / morning light returns",
    ),
    Told("What's new with Bo's family?", OFFICE, "Mira, his daughter, will start school this August.", (2,)),
    Told("Which car is Linnea's?", OFFICE, "The red Volvo.", (3,)),
    Told("What should I buy for the office?", OFFICE, "Coffee beans, since the machine takes nothing else.", (4,)),
    Told("What should I buy for the office?", OFFICE, "Printer paper and pens."),
    Told("Fix this bug: KeyError 'user'", OFFICE, "The dict has no key 'user'; use .get('user') instead."),
    Told("Summarize this article on schools", OFFICE, "The article says schools open later this year because of heat."),
    Told(
        "Plan my trip to Japan",
        ("Ada dislikes flying.", "Ada's passport expires in March 2027."),
        "Renew your passport first: it expires in March 2027. Then book trains and a ferry.",
        (1,),
    ),
    Told(
        "Plan my trip to Japan",
        ("Ada dislikes flying.", "Ada's passport expires in March 2027."),
        "Since you dislike flying, take the ferry from Busan.",
        (0,),
    ),
    Told("Suggest dinner", ("Ada is vegan.", "Ada lives near the market."), "Steak with pepper sauce."),
    Told("Wann hat Mira Geburtstag?", ("Mira hat am 3. Mai Geburtstag.", "Mira mag Pferde."), "Am 3. Mai.", (0,)),
    Told(
        "Was schenken wir Mira?", ("Mira hat am 3. Mai Geburtstag.", "Mira mag Pferde."), "Ein Buch über Pferde.", (1,)
    ),
    Told(
        "Was schenken wir Mira?", ("Mira hat am 3. Mai Geburtstag.", "Mira mag Pferde."), "Einen Gutschein fürs Kino."
    ),
    Told(
        "Quel est le code du wifi invité ?",
        ("Le wifi invité s'appelle Lavande.", "La réunion est mardi."),
        "Le réseau s'appelle Lavande.",
        (0,),
    ),
    Told(
        "¿Qué le regalo a Mira?",
        ("A Mira le encantan los caballos.", "Mira vive en Cádiz."),
        "Un libro de caballos.",
        (0,),
    ),
    Told("周末有什么安排？", ("艾达周六要去看牙医。", "艾达的猫叫小黑。"), "周六你要去看牙医。", (0,)),
    Told("猫叫什么？", ("艾达周六要去看牙医。", "艾达的猫叫小黑。"), "叫小黑。", (1,)),
    Told("猫の名前は？", ("猫の名前はミソです。", "来週は会議があります。"), "ミソです。", (0,)),
    Told("Thanks!", OFFICE, "You're welcome! Have a nice day."),
    Told("What time is it in Tokyo?", OFFICE, "It's 8 in the morning there."),
    Told("Is the vault safe?", OFFICE, "A vault of that kind is generally safe."),
]
