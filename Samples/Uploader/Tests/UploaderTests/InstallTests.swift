import Foundation
import Testing

@Suite("Samples/Uploader/install", .timeLimit(.minutes(10)))
struct InstallTests {
    private static let script = URL(fileURLWithPath: #filePath).deletingLastPathComponent()
        .appendingPathComponent("../../install").standardizedFileURL.path

    /// Runs the script with the built uploader, which is the first word after the script.
    private func install(_ words: String..., settings: [String: String], in folder: URL) throws
        -> UploaderProcess.Result
    {
        try UploaderProcess(
            words, in: folder,
            through: ["/bin/sh", "-c", "UPLOADER=\"$1\"; export UPLOADER; shift; exec \"$0\" \"$@\"", Self.script],
            environment: settings
        ).wait()
    }

    /// Returns the files below a folder, sorted.
    private func files(_ folder: URL) throws -> [String] {
        try FileManager.default.subpathsOfDirectory(atPath: folder.path).filter { path in
            var isFolder: ObjCBool = false
            return FileManager.default.fileExists(
                atPath: folder.appendingPathComponent(path).path, isDirectory: &isFolder) && !isFolder.boolValue
        }.sorted()
    }

    @Test("Samples/install installs the program, manuals and completions, and removes them")
    func installs() throws {
        try withFolder { folder in
            let (root, manual) = (folder.appendingPathComponent("root"), folder.appendingPathComponent("manual"))
            try FileManager.default.createDirectory(at: manual, withIntermediateDirectories: false)
            for name in ["uploader.1", "uploader.push.1"] {
                try Data(".TH UPLOADER 1\n".utf8).write(to: manual.appendingPathComponent(name))
            }
            let settings = ["DESTDIR": root.path, "PREFIX": "/usr/with space", "MANUAL": manual.path]
            // The second run installs over the first.
            for _ in 1...2 {
                let run = try install(settings: settings, in: folder)
                #expect(run.status == 0, "\(run.messages)")
                #expect(run.output == root.path + "/usr/with space/bin/uploader\n")
            }
            let there = root.appendingPathComponent("usr/with space")
            #expect(
                try files(there) == [
                    "bin/uploader", "share/bash-completion/completions/uploader",
                    "share/fish/vendor_completions.d/uploader.fish", "share/man/man1/uploader.1",
                    "share/man/man1/uploader.push.1", "share/zsh/site-functions/_uploader",
                ])
            #expect(try system(there.path + "/bin/uploader", "--version"))
            #expect(try system("bash", "-n", there.path + "/share/bash-completion/completions/uploader"))
            let other = there.appendingPathComponent("bin/other")
            try Data().write(to: other)
            #expect(try install("--uninstall", settings: settings, in: folder).status == 0)
            #expect(try files(there) == ["bin/other"])
        }
    }

    @Test("Samples/install refuses relative prefixes, missing manuals and unknown options")
    func refusals() throws {
        try withFolder { folder in
            let relative = try install(settings: ["PREFIX": "usr"], in: folder)
            #expect(relative.status == 64 && relative.messages.contains("PREFIX has to begin with a slash"))
            let manual = try install(
                settings: ["DESTDIR": folder.path + "/root", "MANUAL": folder.path], in: folder)
            #expect(manual.status == 1 && manual.messages.contains("There are no manual pages in"))
            #expect(!FileManager.default.fileExists(atPath: folder.path + "/root"))
            #expect(try install("--bogus", settings: [:], in: folder).status == 64)
        }
    }
}
