"""Credit by consequence: a potential of dialogues, and the credit of turns that follows from it.

Φ(o)                             what the dialogue o has settled of what is hidden (`facts`, `gain`)
Φ(o_{t+1}) − Φ(o_t) − κ          the credit of a question (`advantage`)
R − Φ(o_T)                       the credit of the answer
"""
