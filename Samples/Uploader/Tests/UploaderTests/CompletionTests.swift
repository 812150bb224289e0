import Foundation
import Testing

@Suite("Shell completion", .timeLimit(.minutes(10)))
struct CompletionTests {
    /// Returns the completions that bash offers for the last of some words. It uses the uploader's own script.
    private func offered(_ words: [String], in folder: URL) throws -> Set<String> {
        let script = folder.appendingPathComponent("uploader.bash")
        let run = try UploaderProcess.run("--generate-completion-script", "bash", in: folder)
        #expect(run.status == 0)
        try Data(run.output.utf8).write(to: script)
        // Bash splits words at a colon and at an equals sign, and each of them becomes a separate word.
        let list = words.map { "'\($0)'" }.joined(separator: " ")
        let last = words.last == ":" ? "" : words.last ?? ""
        let line = """
            source "$1"; COMP_WORDS=("$0" \(list)); COMP_CWORD=\(words.count)
            COMP_LINE="$0 \(words.joined(separator: " "))"; COMP_POINT=${#COMP_LINE}
            _uploader_with_folders "$0" '\(last)' '\(words.dropLast().last ?? "")'; printf '%s\\n' "${COMPREPLY[@]}"
            """
        let shown = try UploaderProcess.run(
            script.path, in: folder, through: ["/bin/bash", "-c", line])
        return Set(shown.output.split(separator: "\n").map(String.init))
    }

    @Test("Bash completes commands, paths, storages and the folders of dir:")
    func bash() throws {
        try withFolder(files: 2) { folder in
            let manager = FileManager.default
            for name in ["photos/2026", "phones", "other"] {
                try manager.createDirectory(
                    at: folder.appendingPathComponent(name), withIntermediateDirectories: true)
            }
            try Data().write(to: folder.appendingPathComponent("photo.sqlite"))
            #expect(try offered(["ver"], in: folder) == ["verify"])
            #expect(try offered(["verify", "--database", "pho"], in: folder) == ["photos", "phones", "photo.sqlite"])
            #expect(try offered(["push", "files/"], in: folder).count == 2)
            #expect(try offered(["pull", "--output", "ph"], in: folder) == ["photos", "phones"])
            #expect(try offered(["push", "--to", ""], in: folder).isSuperset(of: ["dir:", "s3://"]))
            #expect(try offered(["push", "--to", "di"], in: folder) == ["dir:"])
            #expect(try offered(["push", "--to", "dir", ":", "pho"], in: folder) == ["photos", "phones"])
            #expect(try offered(["push", "--to", "dir", ":", "photos/"], in: folder) == ["photos/2026"])
            #expect(try offered(["push", "--to", "=", "dir", ":", "pho"], in: folder) == ["photos", "phones"])
            #expect(try offered(["recover", "--from", "dir", ":"], in: folder).isSuperset(of: ["photos", "files"]))
        }
    }
}
