# SPDX-License-Identifier: MIT
"""Chromium without a window, driven by chromedriver: WebDriver over HTTP, the standard library alone."""

import json
import os
import re
import shutil
import subprocess
import urllib.error
import urllib.request

PATIENCE = 120  # for a busy machine; nothing is timed against it
ELEMENT = 'element-6066-11e4-a52e-4f735466cecf'
KEYS = {'Escape': '\ue00c', 'Enter': '\ue007', 'Backspace': '\ue003', 'Control': '\ue009',
        'ArrowLeft': '\ue012', 'ArrowUp': '\ue013', 'ArrowRight': '\ue014', 'ArrowDown': '\ue015'}


def missing():
    """Why there can be no browser, or None."""
    if not find_chromium():
        return 'chromium is not installed (apt-get install chromium chromium-driver)'
    if not shutil.which('chromedriver'):
        return 'chromedriver is not installed (apt-get install chromium-driver)'
    return None


def find_chromium():
    for name in 'chromium', 'chromium-browser', 'google-chrome':
        if shutil.which(name):
            return shutil.which(name)
    return None


class Browser:
    def __init__(self, width=1200, height=800, scale=1, dark=False):
        self.driver = subprocess.Popen(['chromedriver', '--port=0'], text=True,
                                       stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
        self.session = None
        try:
            self.url = f'http://127.0.0.1:{self._read_port()}'
            arguments = ['--headless=new', '--no-sandbox', '--disable-gpu',
                         '--hide-scrollbars', f'--window-size={width},{height}',
                         f'--force-device-scale-factor={scale}']
            # the dialog that a script in a name would open must stay, to be seen
            wanted = {'unhandledPromptBehavior': 'ignore',
                      'goog:loggingPrefs': {'browser': 'ALL'},
                      'goog:chromeOptions': {'args': arguments, 'binary': find_chromium()}}
            reply = self._send('POST', '/session',
                               {'capabilities': {'alwaysMatch': wanted}})
            self.session = reply['sessionId']
            # the window's size is that of the contents
            self.cdp('Emulation.setDeviceMetricsOverride', width=width, height=height,
                     deviceScaleFactor=scale, mobile=False)
            self.cdp('Emulation.setEmulatedMedia', features=[
                {'name': 'prefers-color-scheme', 'value': 'dark' if dark else 'light'}])
        except BaseException:
            self.close()
            raise

    def __enter__(self):
        return self

    def __exit__(self, *error):
        self.close()

    def close(self):
        if self.session:
            self._send('DELETE', f'/session/{self.session}')
            self.session = None
        self.driver.terminate()
        self.driver.wait()
        self.driver.stdout.close()

    def _read_port(self):
        for line in self.driver.stdout:
            found = re.search(r'started successfully on port (\d+)', line)
            if found:
                return found[1]
        raise RuntimeError('chromedriver did not start')

    def _send(self, method, path, body=None):
        request = urllib.request.Request(
            self.url + path, method=method, headers={'Content-Type': 'application/json'},
            data=None if body is None else json.dumps(body).encode())
        try:
            with urllib.request.urlopen(request, timeout=PATIENCE) as reply:
                return json.load(reply)['value']
        except urllib.error.HTTPError as error:
            raise RuntimeError(json.load(error)['value']['message']) from None

    def command(self, path, body=None, method='POST'):
        return self._send(method, f'/session/{self.session}{path}',
                          {} if method == 'POST' and body is None else body)

    def cdp(self, name, **parameters):
        return self.command('/goog/cdp/execute', {'cmd': name, 'params': parameters})

    def open(self, path, fragment=''):
        # the same file with another fragment is the same page: not loaded again
        self.command('/url', {'url': 'about:blank'})
        self.command('/url', {'url': 'file://' + os.path.abspath(path) + fragment})

    def run(self, script, *arguments):
        """The value that a script returns."""
        return self.command('/execute/sync', {'script': script, 'args': list(arguments)})

    def link(self):
        return self.command('/url', method='GET')

    def back(self):
        self.command('/back')

    def problems(self):
        """Messages of the console, errors among them."""
        log = self.command('/se/log', {'type': 'browser'})
        return [entry['message'] for entry in log if entry['level'] == 'SEVERE']

    def click(self, x, y, times=1):
        steps = [{'type': 'pointerMove', 'x': int(x), 'y': int(y), 'duration': 0}]
        steps += [{'type': 'pointerDown', 'button': 0}, {'type': 'pointerUp', 'button': 0}] * times
        self._act({'type': 'pointer', 'id': 'mouse', 'actions': steps})

    def move(self, x, y):
        self.click(x, y, times=0)

    def press(self, *keys):
        """One after the other; "Control+f" is a chord. Text is typed as it is."""
        steps = []
        for key in keys:
            chord = [KEYS.get(part, part) for part in key.split('+')] if len(key) > 1 else [key]
            steps += [{'type': 'keyDown', 'value': part} for part in chord]
            steps += [{'type': 'keyUp', 'value': part} for part in reversed(chord)]
        self._act({'type': 'key', 'id': 'keys', 'actions': steps})

    def _act(self, source):
        self.command('/actions', {'actions': [source]})
        self.command('/actions', method='DELETE')

    def screenshot(self, path):
        import base64

        with open(path, 'wb') as file:
            file.write(base64.b64decode(self.command('/screenshot', method='GET')))
