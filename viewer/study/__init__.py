"""The pages of a study, for annotators: `apportion study serve`.

From the ground up: `views` (an item and its questions, by letters; a form as answers), `serving` (the study that is
served, and whose cookie it is), `pages` (addresses and routes), `app` (the application), `serve` (port, address, end),
`simulated_browser` (simulated annotators at these pages). Templates are in `viewer/templates/study/`, scripts and the
style sheet in `viewer/static/study/`.

A page knows an annotator by a cookie that holds their own link's token, and nothing of whose a response is: responses
have letters on it, and the file that says whose they are is never opened. What is confirmed has been committed.
"""
