"""Credit by consequence: a potential of dialogues, and the credit of turns that follows from it.

Φ(o)                             how much of the hidden information o has settled (`facts`, `gain`)
Φ(o_{t+1}) − Φ(o_t) − κ          the credit of a question (`advantage`)
R − Φ(o_T)                       the credit of the answer

o_t is the dialogue before turn t, R its final reward, and κ the cost of a question.
"""
