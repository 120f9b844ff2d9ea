"""The kinds of pages, each with the sections, headlines and requests from which a task is drawn."""

from __future__ import annotations

from colbench_tasks.frontend.kind import kind

KINDS = (
    kind(
        "home",
        "offers | lettered | pictured | zigzag | gallery | story offers | numbers pictured",
        "statistics voices quotation steps newsletter invitation hours strip panorama mosaic questions story team",
        "",
        """
$Trade Website: a $style home page with a headline, our main offers and a footer.
The website of $name, a $trade. It needs a $style first impression and a way to get in touch.
A $style landing page for a $trade called $name, with something to click early on.
A welcome page for our $trade, $style, that shows what we do and leads people on.
Please make a $style start page for $name. It is a $trade, and people should see at once what we are good at.
""",
        fewest=1,
        most=3,
    ),
    kind(
        "pricing",
        "plans | plans questions | plans compare | menu plans | plans questions_halves",
        "voices statistics invitation newsletter partners quotation contact steps",
        "Prices / What it costs / Plans and prices / Choose what fits / Simple prices",
        """
$Trade website: a $style page that compares our prices.
A pricing page for $name, a $trade, with a few plans and a button under each.
A $style page where visitors of our $trade see what everything costs and choose.
We need a page with price boxes for a $trade, $style, with a menu and a footer.
Show what $name charges, in a $style way. We are a $trade.
""",
        sells=True,
    ),
    kind(
        "gallery",
        "gallery | mosaic | gallery quotation | mosaic gallery | strip gallery",
        "contact invitation newsletter story statistics team panorama hours",
        "Our pictures / Portfolio / What we have done / A look inside / Work",
        """
$Trade Portfolio: a $style page with many pictures and a simple navigation.
A picture gallery for $name, a $trade. The photographs matter most, the rest stays $style.
A $style website for a $trade that shows its work in images.
A page full of pictures for our $trade, with a $style header and a footer.
People should see what $name looks like: pictures first, few words, $style.
""",
    ),
    kind(
        "contact",
        "contact | contact_picture | contact_alone | hours contact | contact questions_halves",
        "hours team newsletter questions panorama statistics partners strip",
        "Contact / Get in touch / Write to us / Where to find us / Talk to us",
        """
$Trade: a $style contact page with a form to write to us.
A page where people can write to $name, a $trade, with a few fields and a button to send them.
A $style contact form for a $trade, with a navigation bar and where to find us.
Visitors of our $trade should reach us easily, and it should look $style.
Please design the contact page of $name. Nothing complicated, $style, with a form.
""",
    ),
    kind(
        "login",
        "login | login_picture | login_words | login_backed",
        "questions_halves newsletter partners statistics strip quotation numbers",
        "Sign in / Welcome back / Log in / Your account / Members' area",
        """
$Trade: a $style sign-in page.
A login page for the customers of $name, a $trade, with two fields and a button.
A $style page to sign in to the website of a $trade, with navigation and a footer.
Our $trade needs a place to log in, $style and without distraction.
Customers of $name should be able to sign in. Make it $style.
""",
        most=1,
        opens=False,
    ),
    kind(
        "register",
        "register | register_reasons | register numbers | register_reasons voices",
        "statistics voices questions_halves partners quotation steps newsletter strip",
        "Create an account / Join us / Become a member / Register / Be one of us",
        """
$Trade Website: a $style registration page for new members.
A page to open an account with $name, a $trade, with a short form.
A $style sign-up page for a $trade; people should want to fill it in.
New customers of our $trade need a form to register, in a $style design.
Please make the page on which one joins $name. We are a $trade and like it $style.
""",
        opens=False,
    ),
    kind(
        "article",
        "article | article_wide | article_aside",
        "newsletter post_cards invitation quotation offers panorama voices",
        "",
        """
$Trade Blog: a $style article page with a title, a picture and a quotation in the text.
A story on the website of $name, a $trade, to be read in peace.
A $style blog post for a $trade, with navigation and a footer.
A long text about our $trade with a photograph, $style and easy to read.
An article for the magazine of $name, with a title, the author and a picture. It should be $style.
""",
        opens=False,
    ),
    kind(
        "blog",
        "posts | post_cards | lead_post post_cards | lead_post posts | posts strip",
        "newsletter team invitation statistics quotation mosaic story",
        "Journal / Stories / News / The blog / Notes",
        """
$Trade Blog: a $style overview of the latest posts with their dates.
The news page of $name, a $trade, where people choose what to read.
A $style blog for a $trade, with several posts and a footer.
Our $trade writes a journal. We need the page that lists what is in it, in a $style design.
A page with all stories of $name, $style, so that the newest is found first.
""",
    ),
    kind(
        "dashboard",
        "figures table | figures bars | figures activity | bars shares | figures bars activity | shares table",
        "activity shares bars table figures sessions",
        "Overview / This month / How we are doing / Today / All numbers",
        """
$Trade Dashboard: a $style overview with the most important numbers.
An internal page for $name, a $trade, with what happened this month.
A $style admin page for a $trade: numbers first, then everything in detail.
The team of our $trade wants one page with all figures, $style, with navigation.
A dashboard for $name. We look at it every morning, so keep it $style.
""",
    ),
    kind(
        "menu",
        "menu | menu_halves | menu_halves questions | strip menu | menu voices",
        "hours invitation panorama quotation booking newsletter gallery",
        "Our list / Price list / All we have / On offer / What there is",
        """
$Trade: a $style page with a list of everything we have and what it costs.
A price list for $name, a $trade, with a short description of each entry.
A $style page for a $trade with names and prices.
A plain list of what our $trade offers, $style, between a header and a footer.
People ask what $name has and what it costs. Put it on a page, $style please.
""",
        sells=True,
    ),
    kind(
        "shop",
        "products | products strip | lead_post products | search products | products reviews",
        "newsletter voices statistics steps story questions_halves hours partners",
        "Shop / Our shop / New this week / All products / Take it home",
        """
$Trade Online Store: a $style page with products, pictures and prices.
The shop page of $name, a $trade, with photographs and a way to put things in the cart.
A $style shop for a $trade, with navigation, products and a footer.
People should be able to buy from our $trade: pictures, prices, buttons, all $style.
An online shop for $name, a $trade. It should feel $style.
""",
        sells=True,
        fields="food craft care leisure",
    ),
    kind(
        "product",
        "product | product pictured | product reviews | product voices | product gallery",
        "newsletter questions_halves steps strip statistics rating products",
        "",
        """
$Trade Shop: a $style page about one product, with its price and a button to buy it.
A product page for $name, a $trade, with a large photograph.
A $style page for a single thing that our $trade sells.
Show one of the things one can buy from $name, $style, so that people want it.
Our $trade needs a page for a product: what it is, what it costs, how to order. Keep it $style.
""",
        opens=False,
        sells=True,
        fields="food craft care leisure",
    ),
    kind(
        "timetable",
        "week | sessions | week sessions | week table | programme",
        "booking questions_halves team newsletter hours invitation contact strip",
        "Timetable / When and where / This week / Dates and times / The plan",
        """
$Trade: a $style page with our dates and times.
A timetable for $name, a $trade, so that everybody knows what happens when.
A $style overview of the week for a $trade, with navigation and a footer.
Our $trade wants its plan online, $style and easy to look up.
People keep calling $name to ask when things take place. Put it on a page, $style.
""",
    ),
    kind(
        "event",
        "invitation_card programme | programme team | invitation_card team | programme plans | invitation_card story",
        "newsletter statistics strip hours partners questions_halves voices panorama gallery",
        "Open day / Summer party / Our anniversary / A night with friends / The autumn fair",
        """
$Trade Event: a $style page that invites people to a day at our place.
An event page for $name, a $trade, with what happens and when.
A $style invitation to an evening at our $trade, for the web.
We are a $trade and plan an event. The page should make people come, in a $style way.
$name throws a party. Make a $style page for it.
""",
    ),
    kind(
        "booking",
        "booking | booking_summary | booking steps | booking_summary questions_halves | booking hours",
        "voices newsletter team statistics hours panorama partners quotation",
        "Book now / Reserve / Your visit / Make an appointment / Save a place",
        """
$Trade Booking: a $style page where customers choose a day and leave their name.
A page to make an appointment with $name, a $trade.
A $style booking form for a $trade, with few fields, navigation and a footer.
Customers of our $trade should be able to book online. Keep it $style.
Booking with $name should take a minute: one form, $style, nothing else that confuses.
""",
    ),
    kind(
        "team",
        "team | people | team story | people numbers | team years",
        "invitation newsletter jobs quotation statistics strip contact panorama",
        "The team / Who we are / People / Meet us / Faces",
        """
$Trade Website: a $style page that introduces our team.
A page about the people of $name, a $trade, with a picture of each.
A $style team page for a $trade, with names and what each of us does.
Visitors of our $trade want to know who we are. Show us, $style, with faces and names.
Introduce everybody who works at $name, in a $style design with a footer.
""",
    ),
    kind(
        "questions",
        "questions | questions_halves | questions contact | questions_halves invitation | questions_halves hours",
        "newsletter contact team statistics voices steps panorama strip",
        "Questions and answers / Help / Good to know / How can we help? / Ask away",
        """
$Trade Help Page: a $style page with frequent questions and their answers.
A page for $name, a $trade, that answers what people ask most.
A $style help centre for a $trade, with navigation and a footer.
Our $trade gets the same questions every day. Answer them on a $style page.
Questions and answers for the customers of $name, $style and quick to read.
""",
    ),
    kind(
        "listings",
        "listings | search listings | products search | search pictured | listings gallery",
        "newsletter voices team statistics hours contact questions_halves",
        "What is free / To choose from / Find yours / All offers / Now available",
        """
$Trade Website: a $style page with everything that is on offer, with pictures and prices.
A search page for $name, a $trade, where people look through what there is.
A $style list of offers for a $trade, with pictures, navigation and a footer.
Visitors of our $trade should find what suits them, with photographs and prices, in a $style design.
All that $name has to offer on one page, $style, each with a picture.
""",
        sells=True,
        fields="home leisure learning",
    ),
    kind(
        "about",
        "story | story years | years team | story numbers | zigzag years",
        "team quotation voices invitation strip partners statistics gallery panorama",
        "About us / Our story / Where we come from / Who is behind it / How it began",
        """
$Trade Website: a $style page about us and how it all began.
The story of $name, a $trade, for its website.
A $style about page for a $trade, with pictures, navigation and a footer.
People want to know who is behind our $trade. Tell them, in a $style way.
A page about $name that makes people trust us. We are a $trade, and we like it $style.
""",
    ),
    kind(
        "restaurant",
        "menu_halves hours | pictured menu | gallery menu_halves | story menu | menu booking",
        "voices quotation booking strip panorama newsletter hours team",
        "",
        """
$Trade Website: a $style design with something to make people hungry, a list of what there is, and a footer.
Guests of $name, a $trade, should find what we serve. The page should be $style.
A $style website for a $trade with what is served and a good reason to come by.
Our $trade needs a page with dishes and prices, $style, with photographs where they help.
A page for $name that smells of food, $style, with prices.
""",
        fields="food",
    ),
    kind(
        "clinic",
        "offers team | lettered hours | pictured booking | team hours | menu booking",
        "voices questions questions_halves statistics booking hours invitation panorama",
        "",
        """
$Trade Website: a $style design that calms patients, with what we do and a footer.
A page for $name, where people find help. It should be $style, we are a $trade.
A $style website for a $trade with our treatments or the people behind them.
Our $trade needs a page that answers the most important things before a visit, $style.
People come to $name when something hurts. The page should be $style and clear.
""",
        fields="care",
    ),
    kind(
        "school",
        "pictured sessions | offers week | lettered sessions | listings team | offers noticeboard",
        "voices statistics newsletter noticeboard team questions panorama booking",
        "",
        """
$Trade Website: a $style design with our courses and a footer.
A page for $name, where people learn something. It should be $style, we are a $trade.
A $style website for a $trade that shows what one can learn here.
Our $trade needs a page for new pupils, $style, with what is on offer.
Whoever wants to learn with $name should find a course that fits. Make it $style.
""",
        fields="learning",
    ),
    kind(
        "cart",
        "basket | basket steps | basket products | basket questions_halves",
        "newsletter questions_halves voices products contact statistics strip",
        "Your cart / Almost yours / Your order / In your basket / Check out",
        """
$Trade Shop: a $style page with what is in the cart and what it costs altogether.
The cart of the online shop of $name, a $trade, with a button to pay.
A $style checkout page for a $trade, with navigation and a footer.
Customers of our $trade should see what they are about to buy, in a $style design.
Before people pay at $name they want to see their order. Make that page, $style.
""",
        opens=False,
        sells=True,
        fields="food craft care leisure",
    ),
    kind(
        "jobs",
        "jobs | jobs story | jobs numbers | team jobs | jobs steps",
        "quotation statistics contact gallery newsletter voices strip panorama",
        "Work with us / Jobs / We are hiring / Join the team / Come and help",
        """
$Trade Careers: a $style page with the jobs that we offer.
A page for people who want to work at $name, a $trade.
A $style careers page for a $trade, with open positions and a footer.
Our $trade is looking for people. The page should be $style and make them apply.
$name is hiring. We need a $style page with what is open.
""",
    ),
    kind(
        "reviews",
        "reviews | rating reviews | voices rating | reviews gallery | rating voices quotation",
        "invitation newsletter statistics contact partners team strip panorama",
        "What people say / Reviews / Kind words / Our guest book / Voices",
        """
$Trade Website: a $style page with what our customers say about us.
Reviews of $name, a $trade, on a page of their own.
A $style page of testimonials for a $trade, with navigation and a footer.
New customers of our $trade trust old ones. Show their words, in a $style design.
People say kind things about $name. Collect them on a $style page.
""",
    ),
)
