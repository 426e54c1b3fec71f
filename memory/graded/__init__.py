"""The graded memory: messages in tiers, a second fold over the same journal."""
