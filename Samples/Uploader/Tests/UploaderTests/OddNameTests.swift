import Foundation
import Testing
import UploaderKit

@Suite("Names that are not printable text", .timeLimit(.minutes(10)))
struct OddNameTests {
    /// Runs a line of a shell, whose printf can write bytes that no string contains.
    private func shell(_ script: String, in folder: URL) throws -> UploaderProcess.Result {
        try UploaderProcess([], in: folder, through: ["/bin/sh", "-c", "set -e; u=$0; " + script]).wait()
    }

    /// Creates bad<FF>/{<FF>.jpg,<FE>.jpg}, in octal as POSIX requires.
    private static let make = #"""
        d="$(printf 'files/bad\377')"; mkdir "$d"; a="$d/$(printf '\377.jpg')"; b="$d/$(printf '\376.jpg')"
        echo a > "$a"; echo bb > "$b";
        """#
    private static let push = #""$u" push --database a.sqlite --to dir:remote "#

    @Test("Push reads paths as bytes, also in a dry run")
    func push() throws {
        try withFolder { folder in
            let both = try shell(Self.make + Self.push + #""$a" "$b""#, in: folder)
            #expect(both.status == 0 && both.output.contains("\n2 attached, 2 uploaded"), "\(both)")
            let again = try shell(#"d="$(printf 'files/bad\377')";"# + Self.push + #""$d""#, in: folder)
            #expect(again.status == 0 && again.output.hasPrefix("0 attached"), "\(again)")
            let preview = try shell(
                #"d="$(printf 'files/bad\377')"; echo c > "$d/c";"# + Self.push + #"-n "$d""#, in: folder)
            #expect(preview.status == 0 && preview.output.contains("1 file to attach"), "\(preview)")
        }
    }

    @Test("Backup reads the paths of its groups as bytes")
    func groups() throws {
        try withFolder(files: 1) { folder in
            let run = try shell(
                Self.make + #""$u" backup --database a.sqlite --to dir:remote --groups "include:files,exclude:$d""#,
                in: folder)
            #expect(run.status == 0 && run.output.hasPrefix("1 attached"), "\(run)")
            let inner = try shell(
                #"d="$(printf 'files/bad\377')"; "$u" backup --database a.sqlite --groups="include:$d""#, in: folder)
            #expect(inner.status == 0 && inner.output.hasPrefix("2 attached"), "\(inner)")
        }
    }

    @Test("The commands list, pull, remove, pin and free read names as bytes")
    func names() throws {
        try withFolder { folder in
            #expect(try shell(Self.make + Self.push + "files", in: folder).status == 0)
            let names = #"a="$(printf '\377.jpg')"; b="$(printf '\376.jpg')"; d="$(printf 'bad\377')"; "$u" "#
            let list = try shell(names + #"list --database a.sqlite "$b""#, in: folder)
            #expect(list.status == 0 && list.output.hasSuffix("files/bad\\xFF/\\xFE.jpg\n"), "\(list)")
            let all = try shell(names + #"list --database a.sqlite "$a" "$b""#, in: folder)
            #expect(all.output.split(separator: "\n").count == 2, "\(all)")
            #expect(
                try shell(names + #"list --database a.sqlite "$d""#, in: folder).output.split(separator: "\n").count
                    == 2)
            #expect(try shell(names + #"pin --database a.sqlite "$a""#, in: folder).status == 0)
            #expect(try shell(names + #"unpin --database a.sqlite "$a""#, in: folder).status == 0)
            #expect(try shell(names + #"free --database a.sqlite "$a""#, in: folder).status == 0)
            let pull = try shell(
                names + #"pull --database a.sqlite "$a" --output "$d"; test -f "$d/files/$d/$a""#, in: folder)
            #expect(pull.status == 0, "\(pull)")
            let remove = try shell(names + #"remove --database a.sqlite "$a""#, in: folder)
            #expect(remove.status == 0 && remove.output.hasPrefix("1 removed"), "\(remove)")
        }
    }

    @Test("Database and storage paths that are not UTF-8 are refused")
    func textOnly() throws {
        try withFolder(files: 1) { folder in
            for options in [
                #"--database "$(printf 'a\377.sqlite')" --to dir:remote"#,
                #"--database a.sqlite --to "$(printf 'dir:remote\377')""#,
            ] {
                let run = try shell(#""$u" push \#(options) files"#, in: folder)
                #expect(run.status == 64 && run.messages.contains("is not UTF-8"), "\(run)")
            }
        }
    }

    @Test("A printed name identifies one file, and is accepted as its name")
    func printed() throws {
        let lines = "new\nline.jpg"
        let (literal, slash) = (#"lit\nline.jpg"#, #"a\b.jpg"#)
        let odd: [[UInt8]] = [
            Array(lines.utf8), Array(literal.utf8), [0x5C, 0xFF, 0x1B, 0xC3], Array("é\u{202E}\\u{1}".utf8),
        ]
        for bytes in odd {
            #expect(Printable.name(printedAs: FilePath(bytes: bytes).description) == bytes)
        }
        #expect(FilePath(literal).description == #"lit\\nline.jpg"# && Printable.name(printedAs: "plain") == nil)
        try withFolder { folder in
            let files = folder.appendingPathComponent("files")
            for name in [lines, literal, "lit\nline.jpg", slash] {
                try Data(name.utf8).write(to: files.appendingPathComponent(name))
            }
            #expect(
                try UploaderProcess.run("push", "--database", "a.sqlite", "--to", "dir:remote", "files", in: folder)
                    .status == 0)
            let list = try UploaderProcess.run("list", "--database", "a.sqlite", in: folder).output
            let names = list.split(separator: "\n").map { String($0.split(separator: "/").last ?? "") }
            #expect(Set(names) == [#"new\nline.jpg"#, #"lit\\nline.jpg"#, #"lit\nline.jpg"#, #"a\\b.jpg"#])
            for (given, bytes) in [
                (#"new\nline.jpg"#, lines), (#"lit\\nline.jpg"#, literal), (literal, literal), (slash, slash),
                (#"a\\b.jpg"#, slash),
            ] {
                let found = try UploaderProcess.run("list", "--database", "a.sqlite", "--json", given, in: folder)
                let paths = found.events.compactMap { $0["path"] as? String }
                #expect(paths.map { $0.split(separator: "/").last.map(String.init) } == [bytes], "\(given): \(found)")
            }
        }
    }
}
