# SPDX-License-Identifier: LGPL-2.1-or-later
"""Reads C++ and CUDA sources well enough to say what they define, without compiling them.

Knows comments, strings, preprocessor lines and braces, and takes it that the sources compile and
are formatted: a name right before an opening brace, as in `value_{1}`, is initialised by it.
"""

import re

TOKENS = re.compile(
    r"""(?P<comment>//(?:\\\n|[^\n])*|/\*.*?\*/)
      | (?P<raw>R"(?P<delimiter>[^()\\\s]*)\(.*?\)(?P=delimiter)")
      | (?P<string>"(?:\\.|[^"\\\n])*")
      | (?<!\w)\d(?:'?[\w.])*            # Else the ' of 1'000 would open a character.
      | (?P<char>'(?:\\.|[^'\\\n])+')""", re.X | re.S)
DIRECTIVE = re.compile(r"^[ \t]*#[ \t]*(\w*)(?:[^\n]*\\\n)*[^\n]*", re.M)

ACCESS = re.compile(r"\b(?:public|private|protected)\s*:(?!:)")
ATTRIBUTE = re.compile(r"\[\[.*?\]\]|\b(?:__align__|alignas|__attribute__|__launch_bounds__|"
                       r"CONVOLVE_BAND_BOUNDS)\s*"
                       r"\((?:[^()]|\([^()]*\))*\)")
NAMESPACE = re.compile(r"^(?:inline )?namespace ?([\w:]*)$")
LINKAGE = re.compile(r'^extern "\s*"$')
# A macro that ends without a semicolon, as those that define a GObject type do.
AFTER_MACRO = re.compile(r"\) (?:inline )?namespace ?([\w:]*)$")
TYPE = re.compile(r"^(?:(?:typedef|static|inline|const|constexpr) )*"
                  r"(?:class|struct|union|enum(?: class| struct)?)(?: ([\w:]+))?( ?<.*>)?"
                  r"(?: final)?(?: ?: ?([^(){}=]*))?$")
CONSTANTS = re.compile(r"^(?:(?!extern\b|using\b)\w+ )*?const(?:expr)? ")
INITIALISED = re.compile(r"\b(k[A-Z]\w*) ?(?:\[\] ?)*(?:\{\}|=(?!=))")
POINTER = re.compile(r"\(\s*[*&]+\s*(\w+)\s*\)")
MEMBER = re.compile(r"(?<!::)~?\b[A-Za-z_]\w*(?=\s*(?:[({\[;=,)}]|:(?!:)|$))")


def blank(text):
    """Spaces in place of all but the line breaks."""
    return re.sub(r"[^\n]", " ", text)


def without_groups(text, opening, closing):
    """`text` with nothing left inside its brackets."""
    inner = re.compile(rf"(\{opening})[^\{opening}\{closing}]+(\{closing})")
    marks = re.compile(rf"\{opening}\{closing}")
    # Emptied groups are set aside, so that those around them can be emptied in turn.
    changed = 1
    while changed:
        text, changed = inner.subn(r"\1\2", marks.sub("\0", text))
    return text.replace("\0", opening + closing)


def without_template(header):
    """`header` without the `template <...>` before it."""
    while re.match(r"\s*template\s*<", header):
        depth = 0
        for match in re.finditer(r"<=|>=|->|<|>", header):
            depth += {"<": 1, ">": -1}.get(match[0], 0)
            if not depth:
                header = header[match.end():]
                break
        else:
            break
    return header


class Scope:
    """What a pair of braces encloses.

    `kind` is "namespace", "type", "specialisation" (of a template of types), "function" or "block";
    `name` is empty for what has none; `bases` are the words behind a type's colon; `begin` and
    `end` are where the braces stand.
    """

    def __init__(self, kind, name, bases, begin, parent):
        self.kind, self.name, self.bases = kind, name, bases
        self.begin, self.end, self.parent = begin, begin, parent
        self.children = []
        self.statements = []  # Text at this level, each up to its semicolon or opening brace.

    def walk(self):
        """This scope and all within it."""
        yield self
        for child in self.children:
            yield from child.walk()

    def members(self):
        """Names that this namespace or type declares, besides those it inherits."""
        names = {child.name for child in self.children if child.name}
        for statement in self.statements:
            text = without_groups(POINTER.sub(r" \1", statement), "(", ")")
            names.update(MEMBER.findall(text))
        for child in self.children:
            if child.kind == "type" and not child.name:
                names |= child.members()
        return names

    def path(self):
        """Names of the namespaces and types around this and its own; anonymous ones have none."""
        names = [self.name] if self.name else []
        return (self.parent.path() if self.parent else []) + names


def classify(header):
    """(kind, name, bases) of what `header` opens between declarations."""
    text = " ".join(ATTRIBUTE.sub(" ", without_template(ACCESS.sub(" ", header))).split())
    if match := NAMESPACE.match(text):
        return "namespace", match[1], ()
    if LINKAGE.match(text):
        return "namespace", "", ()
    if match := AFTER_MACRO.search(text):
        return "namespace", match[1], ()
    if match := TYPE.match(text):
        return ("specialisation" if match[2] else "type", match[1] or "",
                re.findall(r"\w+", match[3] or ""))
    declared = re.sub(r"\boperator\s*(?:\(\)|[^\s\w(]+)", "operator",
                      without_groups(text, "(", ")"))
    if "(" in declared and "=" not in declared and not re.search(r"[\w>\]]$", header):
        return "function", (re.search(r"([\w:~\[\]]+) ?\(", declared) or ["", ""])[1], ()
    return "block", "", ()


class Source:
    """A file: its text, its comments, its code without them, and its scopes."""

    def __init__(self, text):
        self.text = text
        self.comments = []  # (where it begins, text)
        self.code = self._without_directives(TOKENS.sub(self._blank_token, text))
        self.root = Scope("namespace", "", (), 0, None)
        self._find_scopes()

    def line(self, at):
        """The number of the line at this offset, from 1."""
        return self.text.count("\n", 0, at) + 1

    def _blank_token(self, match):
        if match["comment"]:
            self.comments.append((match.start(), match[0]))
            return blank(match[0])
        if match["raw"] or match["string"] or match["char"]:
            return match[0][0] + blank(match[0][1:-1]) + match[0][-1]
        return match[0]

    @staticmethod
    def _without_directives(code):
        """Blanks preprocessor lines, and the alternatives of an #if that leaves a brace open."""
        pieces, depth, branches, done = [], 0, [], 0
        for match in [*DIRECTIVE.finditer(code), None]:
            piece = code[done:match.start() if match else len(code)]
            if any(skipped for _, skipped in branches):
                piece = blank(piece)
            depth += piece.count("{") - piece.count("}")
            pieces.append(piece)
            if not match:
                break
            pieces.append(blank(match[0]))
            done = match.end()
            if match[1].startswith("if"):
                branches.append((depth, False))
            elif match[1].startswith("el") and branches:
                before, skipped = branches.pop()
                branches.append((before, skipped or depth != before))
            elif match[1] == "endif" and branches:
                branches.pop()
        return "".join(pieces)

    def _find_scopes(self):
        scope, parens, start, outer = self.root, 0, 0, []
        for match in re.finditer(r"[{}();]", self.code):
            at = match.start()
            if match[0] == "{":
                kind, name, bases = "block", "", ()
                if scope.kind in ("namespace", "type", "specialisation") and not parens:
                    kind, name, bases = classify(self.code[start:at])
                    if kind != "namespace":
                        scope.statements.append(self.code[start:at])
                inner = Scope(kind, name, bases, at, scope)
                scope.children.append(inner)
                outer.append((scope, parens, start))
                scope, parens, start = inner, 0, at + 1
            elif match[0] == "}" and outer:
                scope.end = at
                scope.statements.append(self.code[start:at])  # An enum's last values.
                closed = scope
                scope, parens, start = outer.pop()
                if closed.kind != "block":
                    start = at + 1
            elif match[0] == "(":
                parens += 1
            elif match[0] == ")":
                parens -= 1
            elif match[0] == ";" and not parens:
                scope.statements.append(self.code[start:at])
                start = at + 1

    def functions(self):
        """(name, line of its opening brace, lines to its closing brace, both counted)."""
        for scope in self.root.walk():
            if scope.kind == "function":
                first = self.line(scope.begin)
                yield scope.name, first, self.line(scope.end) - first + 1

    def defined(self):
        """Qualified names of the types and constants that are defined at namespace scope."""
        names = set()
        for scope in self.root.walk():
            if scope.kind == "type" and scope.name and scope.parent.kind == "namespace":
                names.add("::".join(scope.path()))
            elif scope.kind == "namespace":
                for statement in scope.statements:
                    text = " ".join(ATTRIBUTE.sub(" ", without_template(statement)).split())
                    for brackets in ("()", "[]", "{}"):
                        text = without_groups(text, *brackets)
                    if CONSTANTS.match(text):
                        names.update("::".join([*scope.path(), name])
                                     for name in INITIALISED.findall(text))
        return names
