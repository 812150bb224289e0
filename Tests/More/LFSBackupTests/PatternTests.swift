import Foundation
import LFSBackup
import TestSupport
import Testing

@Suite("Path patterns", .timeLimit(.minutes(10)))
struct PatternTests {
    static let matches: [(String, [String], [String])] = [
        ("*.jpg", ["a.jpg", "x/y/a.jpg", ".jpg"], ["a.jpg.txt", "a.JPG", "a.jpgx/b"]),
        ("/*.jpg", ["a.jpg"], ["x/a.jpg"]),
        ("x/*.jpg", ["x/a.jpg", "w/x/a.jpg"], ["wx/a.jpg", "x/y/a.jpg"]),
        ("x/**", ["x/a", "x/y/z", "w/x/a"], ["x", "wx/a"]),
        ("x/", ["x/a", "x/y/z", "w/x/a"], ["x", "xx/a"]),
        ("/x/", ["x/a"], ["w/x/a"]),
        ("**", ["a", "a/b"], []),
        ("a?c", ["abc", "x/aéc"], ["ac", "a/c", "abbc"]),
        ("[a-c^]", ["a", "c", "^"], ["d", "ab"]),
        ("[^a-c]", ["d", "-"], ["a", "b"]),
        ("[a-]", ["a", "-"], ["b"]),
        ("*.{jpg,heic,}", ["a.jpg", "a.heic", "a."], ["a.png", "a.jpgheic"]),
        ("{a,b*}c", ["ac", "bc", "bxyc"], ["axc", "c"]),
        (#"\*\[\{"#, ["*[{"], ["a[{"]),
        ("a.b+c(d)|e$", ["a.b+c(d)|e$"], ["axb+c(d)|e$"]),
        ("a,b", ["a,b"], ["a", "b"]),
    ]

    @Test("Each pattern matches its paths and no others", arguments: matches)
    func table(pattern: String, taken: [String], left: [String]) throws {
        let pattern = try PathPattern(pattern)
        for path in taken { #expect(pattern.matches(AssetName(path)), "\(path)") }
        for path in left { #expect(!pattern.matches(AssetName(path)), "\(path)") }
        // An absolute path matches in the same way.
        for path in taken { #expect(pattern.matches(AssetName("/" + path)), "/\(path)") }
    }

    @Test(
        "The error of an invalid pattern names the mistake",
        arguments: [
            ("", "is empty"), ("/", "/**"), ("a***", "stars"), ("[a", "without a ]"), ("a]", "without a ["),
            ("[z-a]", "range"), ("[]a]", "without characters"), ("[[:alpha:]]", "within"), ("{a", "without a }"),
            ("a}", "without a {"),
            ("{a,{b}}", "within"), ("{{a.*}}", "{{"), (#"a\"#, "character"), (#"[a\"#, "without a ]"),
        ])
    func illegal(text: String, reason: String) throws {
        let error = #expect(throws: BackupError.self) { try PathPattern(text) }
        #expect(error?.code == .illegalPattern)
        #expect(error?.message.contains(reason) == true, "\(error?.message ?? "")")
    }

    @Test("A pattern matches invalid UTF-8 and takes no exponential time")
    func hostile() throws {
        #expect(try PathPattern("a?c").matches(AssetName(bytes: [0x61, 0xFF, 0x63])))
        // Backtracking over every alternative would need 2^200 steps.
        let stars = String(repeating: "*a", count: 200)
        #expect(!(try PathPattern(stars).matches(AssetName(String(repeating: "a", count: 4_000) + "b"))))
        let braces = String(repeating: "{a,?}", count: 500)
        #expect(try PathPattern(braces).matches(AssetName(String(repeating: "a", count: 500))))
    }

    @Test("The first matching rule decides, and only listed paths are taken")
    func rules() throws {
        func filter(_ including: [String], excluding: [String], listed: [String]? = nil) throws -> PathFilter {
            PathFilter(
                including: try including.map { try PathPattern($0) },
                excluding: try excluding.map { try PathPattern($0) },
                listed: listed.map { Set($0.map { AssetName($0) }) })
        }
        let both = try filter(["*.jpg"], excluding: ["x/**"])
        #expect(both.takes("x/a.jpg") && !both.takes("x/a") && !both.takes("a"))
        let left = try filter([], excluding: ["x/**", "*.tmp"])
        #expect(left.takes("a") && !left.takes("x/a") && !left.takes("y/a.tmp") && !left.takesAll)
        let listed = try filter([], excluding: ["*.tmp"], listed: ["x/a", "b.tmp"])
        #expect(listed.takes("x/a") && !listed.takes("b.tmp") && !listed.takes("x/c"))
        #expect(PathFilter().takesAll)
    }

    // MARK: Comparison with rclone

    @Test(
        "The tool rclone selects the same files of a tree for each pattern",
        .enabled(if: Machine.has("rclone"), "needs rclone"))
    func likeRclone() async throws {
        try await withTemporaryFolder { folder in
            let names = ["a", "ab", "b.jpg", "B.JPG", "c.heic", "c[1]", "x,y", "d{e}", "é", "a b", "star*", "d$"]
            let tree = folder.child("tree")
            for place in ["", "x/", "x/y/", "wx/", "x/y/x/", "abc/"] {
                try FileManager.default.createDirectory(at: tree.child(place), withIntermediateDirectories: true)
                for name in names { try Data().write(to: tree.child(place + name)) }
            }
            var generator = SeededGenerator(seed: 17)
            let parts = [
                "*", "**", "?", "/", "a", "b", "x", "y", ".", "jpg", "[a-c]", "[^a]", "{a,b}", "{x/y,*}", #"\*"#, " ",
                "$", ",",
            ]
            // rclone enters no folder above a match of such a pattern, unless the pattern begins at the top.
            func isShortCut(_ text: String) -> Bool {
                text.hasSuffix("/") || !text.hasPrefix("/") && (text.contains("/") || text.contains("**"))
            }
            var patterns: [(include: [String], exclude: [String])] = Self.matches.map { ([], [$0.0]) }
            patterns += Self.matches.filter { !isShortCut($0.0) }.map { ([$0.0], []) }
            func random() -> String {
                (0..<Int.random(in: 1...5, using: &generator)).map { _ in parts.randomElement(using: &generator) ?? "" }
                    .joined()
            }
            while patterns.count < 120 {
                let texts = [random(), random(), random()]
                // Patterns that are refused have their own test above.
                guard texts.allSatisfy({ (try? PathPattern($0)) != nil }) else { continue }
                patterns.append(([], [texts[1]]))
                if !isShortCut(texts[0]) { patterns += [([texts[0]], []), ([texts[0]], [texts[2]])] }
            }
            var taken = 0
            for (include, exclude) in patterns {
                let theirs = try await rclone(tree, include: include, exclude: exclude, into: folder.child("list"))
                let filter = PathFilter(
                    including: try include.map { try PathPattern($0) },
                    excluding: try exclude.map { try PathPattern($0) })
                let source = FolderSource([BackupGroup(tree.path, mode: .include)], where: filter)
                var walk = try source.makeWalk()
                var ours: Set<String> = []
                while let item = walk.next() {
                    guard case .asset(let asset) = item else { continue }
                    ours.insert(String(asset.id.description.dropFirst(tree.path.count + 1)))
                }
                #expect(ours == theirs, "include \(include), exclude \(exclude)")
                taken += ours.count
            }
            #expect(taken > 1_000)
        }
    }

    private func rclone(
        _ tree: URL, include: [String], exclude: [String], into list: URL
    ) async throws -> Set<String> {
        var tool = ToolRun(
            "rclone",
            arguments: ["--config", "/dev/null", "lsf", "-R", "--files-only", tree.path]
                + include.flatMap { ["--include", $0] } + exclude.flatMap { ["--exclude", $0] })
        tool.output = list
        let status = try await tool.finish()
        let text = try String(contentsOf: list, encoding: .utf8)
        try #require(status == 0, "\(text)")
        return Set(text.split(separator: "\n").map(String.init).filter { !$0.contains("ERROR :") })
    }
}

extension PathFilter {
    fileprivate func takes(_ path: String) -> Bool { takes(AssetName(path)) }
}
