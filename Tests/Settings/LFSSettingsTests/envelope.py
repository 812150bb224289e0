"""Opens and closes envelopes by their description in Sources/Settings/LFSSettings/Securing/Envelope.swift.

    envelope.py open  KEY KEY-ID INSTALL-ID DOMAIN NAME SERIALIZER VERSION ENVELOPE
    envelope.py close KEY KEY-ID INSTALL-ID DOMAIN NAME SERIALIZER VERSION VALUE SUITE

Bytes are hex digits, in and out.
"""
import os, struct, sys

from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.ciphers.aead import AESGCM, ChaCha20Poly1305
from cryptography.hazmat.primitives.kdf.hkdf import HKDF

CIPHERS = {1: AESGCM, 2: ChaCha20Poly1305}


def cipher(key, suite, salt):
    info = f"lfs-settings/1/{suite}".encode()
    return CIPHERS[suite](HKDF(algorithm=hashes.SHA256(), length=32, salt=salt, info=info).derive(key))


def context(texts):
    return b"".join(struct.pack(">I", len(text.encode())) + text.encode() for text in texts)


def main(action, key, key_id, install_id, domain, name, serializer, version, content, suite=None):
    key, key_id, content = bytes.fromhex(key), bytes.fromhex(key_id), bytes.fromhex(content)
    place = context([install_id, domain, name, serializer, version])
    if action == "open":
        header, body = content[:66], content[66:]
        assert header[:5] == b"LFSE\x01" and header[6:22] == key_id
        return cipher(key, header[5], header[22:54]).decrypt(header[54:66], body, header + place)
    salt, nonce = os.urandom(32), os.urandom(12)
    header = b"LFSE\x01" + bytes([int(suite)]) + key_id + salt + nonce
    return header + cipher(key, int(suite), salt).encrypt(nonce, content, header + place)


print(main(*sys.argv[1:]).hex())
