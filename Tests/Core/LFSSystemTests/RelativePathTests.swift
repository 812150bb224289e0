import LFSSystem
import Testing

@Suite("Paths from a folder to a file")
struct RelativePathTests {
    private func path(to file: String, from folder: String) -> String? {
        RelativePath(to: Array(file.utf8), from: Array(folder.utf8)).map { String(decoding: $0.bytes, as: UTF8.self) }
    }

    private func absolute(_ path: String, from folder: String) -> String? {
        RelativePath(bytes: Array(path.utf8)).absolute(from: Array(folder.utf8))
            .map { String(decoding: $0, as: UTF8.self) }
    }

    @Test(
        "A file with a parent in common has a path that leads back to it",
        arguments: [
            ("/a/b/c", "/a/b", "c"), ("/a/b/c", "/a/d", "../b/c"), ("/a/b/c", "/a/d/e/f", "../../../b/c"),
            ("/a//b/./c", "/a/b/", "c"),
        ])
    func common(file: String, folder: String, expected: String) {
        #expect(path(to: file, from: folder) == expected)
        let names = file.split(separator: "/").filter { $0 != "." }
        #expect(absolute(expected, from: folder) == "/" + names.joined(separator: "/"))
    }

    @Test(
        "A file without a parent in common has no path",
        arguments: [("/a/b", "/c/d"), ("/a", "/"), ("/a/b", "/a/b"), ("a/b", "/a"), ("/a/../b/c", "/b"), ("/a/b", "")])
    func none(file: String, folder: String) {
        #expect(path(to: file, from: folder) == nil)
    }

    @Test(
        "A path that leads above the root folder, or is absolute, is refused",
        arguments: [("../../../c", "/a/b"), ("/c", "/a"), ("c", "a")])
    func refused(path: String, folder: String) {
        #expect(absolute(path, from: folder) == nil)
    }

    @Test("A path keeps bytes that are not text")
    func bytes() {
        let file: [UInt8] = Array("/a/".utf8) + [0xFF, 0xFE]
        let path = RelativePath(to: file, from: Array("/a/b".utf8))
        #expect(path?.absolute(from: Array("/a/b".utf8)) == file)
    }
}
