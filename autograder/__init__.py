"""The autograder: releases nbgrader assignments, checks them, grades submissions and writes feedback."""
