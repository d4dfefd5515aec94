"""Write the provenance into a picture's file: campaign, labkit's version, command and caption.

The metadata hold no date: the same figure always gives the same bytes.
"""

from __future__ import annotations

import io
import re
import struct
import zlib
from dataclasses import dataclass
from xml.sax.saxutils import escape

from labkit import __version__

_ROOT = re.compile(r"""<svg\b(?:[^>"']|"[^"]*"|'[^']*')*>""")
_SIGNATURE = b"\x89PNG\r\n\x1a\n"
_HEADER = len(_SIGNATURE) + 25  # B of the signature and of the first chunk, IHDR
_UNPRINTABLE = re.compile(r"[\x00-\x1f\x7f]+")


@dataclass(frozen=True, kw_only=True)
class Provenance:
    """Where a picture comes from.

    Parameters
    ----------
    campaign : name of the campaign whose data it shows; several are separated by commas.
    command : command that made it.
    caption : what it shows, as plain text.
    """

    campaign: str
    command: str
    caption: str

    @property
    def entries(self) -> dict[str, str]:
        """Each fact by its keyword in a PNG file; the first three keywords are those of the PNG specification."""
        facts = {"Description": self.caption, "Source": self.campaign, "Software": f"labkit {__version__}"}
        facts["Command"] = self.command
        return {name: _UNPRINTABLE.sub(" ", text) for name, text in facts.items()}

    def in_svg(self, svg: str) -> str:
        """Return an SVG picture with a description, and with metadata in the terms of Dublin Core."""
        facts = {name: escape(text) for name, text in self.entries.items()}
        terms = {"dc:description": "Description", "dc:source": "Source", "dc:creator": "Software"}
        terms["dcterms:provenance"] = "Command"
        body = "".join(f"<{term}>{facts[name]}</{term}>" for term, name in terms.items())
        spaces = (
            'xmlns:rdf="http://www.w3.org/1999/02/22-rdf-syntax-ns#" xmlns:dc="http://purl.org/dc/elements/1.1/" '
            'xmlns:dcterms="http://purl.org/dc/terms/"'
        )
        about = f'<rdf:RDF {spaces}><rdf:Description rdf:about="">{body}</rdf:Description></rdf:RDF>'
        added = f"<desc>{facts['Description']}</desc><metadata>{about}</metadata>"
        return _ROOT.sub(lambda root: root[0] if root[0].endswith("/>") else root[0] + added, svg, count=1)

    def in_png(self, png: bytes) -> bytes:
        """Return a PNG picture with a text chunk (iTXt) for each fact after its header."""
        if not png.startswith(_SIGNATURE):
            raise ValueError("the picture is no PNG file")
        chunks = b"".join(_chunk(name, text) for name, text in self.entries.items())
        return png[:_HEADER] + chunks + png[_HEADER:]

    def in_pdf(self, pdf: bytes) -> bytes:
        """Return a PDF file with the facts in its document information."""
        from pypdf import PdfWriter  # 0.2 s; optional

        facts = self.entries
        writer = PdfWriter(clone_from=io.BytesIO(pdf))
        writer.metadata = {
            "/Subject": facts["Description"],
            "/Creator": facts["Software"],
            "/Keywords": f"campaign {facts['Source']}; {facts['Command']}",
            "/Source": facts["Source"],
            "/Command": facts["Command"],
        }
        out = io.BytesIO()
        writer.write(out)
        return out.getvalue()


def _chunk(keyword: str, text: str) -> bytes:
    """Return an uncompressed chunk of international text, see section 11.3.3.4 of the PNG specification."""
    body = b"iTXt" + keyword.encode("latin-1") + b"\0\0\0\0\0" + text.encode()
    return struct.pack(">I", len(body) - 4) + body + struct.pack(">I", zlib.crc32(body))
