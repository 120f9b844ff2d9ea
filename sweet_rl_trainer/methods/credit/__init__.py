"""Credit by consequence: a potential Φ rates dialogues, and the credit of a turn is the change in Φ.

o_t is the dialogue before turn t, T the last turn, R the final reward, and κ the cost of a question.

Φ(o)                             how much of the hidden information the dialogue o settles (`facts`, `gain`)
Φ(o_{t+1}) − Φ(o_t) − κ          the credit of a question (`advantage`)
R − Φ(o_T)                       the credit of the answer
"""
