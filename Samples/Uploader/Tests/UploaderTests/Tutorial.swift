import Foundation
import Testing

/// The transcripts of a tutorial: the blocks of a page that start with ```` ```console ````.
///
/// A line that starts with `$ ` is a command. The lines up to the next command are its output. Lines of the output that
/// start with `uploader: ` go to standard error, all others to standard output.
struct Tutorial {
    struct Step {
        let command: String
        var output: [String] = []
        var messages: [String] = []
    }

    let steps: [Step]

    /// - Parameter page: the path of the page in the repository.
    init(_ page: String) throws {
        let root = URL(fileURLWithPath: #filePath).deletingLastPathComponent()
            .appendingPathComponent("../../../..").standardizedFileURL
        let text = try String(contentsOf: root.appendingPathComponent(page), encoding: .utf8)
        let blocks = text.components(separatedBy: "```console\n").dropFirst().map {
            $0.components(separatedBy: "\n```")[0]
        }
        var steps: [Step] = []
        for line in blocks.flatMap({ $0.components(separatedBy: "\n") }) {
            if line.hasPrefix("$ ") {
                steps.append(Step(command: String(line.dropFirst(2))))
            } else {
                let last = try #require(steps.indices.last, "The page \(page) starts with an output.")
                if line.hasPrefix("uploader: ") {
                    steps[last].messages.append(line)
                } else {
                    steps[last].output.append(line)
                }
            }
        }
        self.steps = steps
    }

    /// Runs all commands in one shell, and compares each output with the page. The page calls the folder `/home/me`.
    ///
    /// - Parameters:
    ///   - programs: the folder of further programs. `PATH` contains the built uploader in any case.
    ///   - port: the port that replaces 8585 in all commands, because other programs may use that one.
    func run(in folder: URL, programs: String? = nil, port: UInt16? = nil) throws {
        let results = folder.appendingPathComponent(".results")
        try FileManager.default.createDirectory(at: results, withIntermediateDirectories: false)
        var script = "PATH=$(dirname \"$0\"):\(programs.map { "'\($0)':" } ?? "")$PATH\nexport PATH\n"
        for (number, step) in steps.enumerated() {
            // Braces and no subshell, so that a folder or a variable stays in effect.
            let command = port.map { step.command.replacing("8585", with: "\($0)") } ?? step.command
            script += """
                { \(command)
                } >'\(results.path)/\(number).output' 2>'\(results.path)/\(number).messages'
                echo $? >'\(results.path)/\(number).status'

                """
        }
        let run = try UploaderProcess(
            [], in: folder, through: ["/bin/sh", "-c", script],
            environment: ["HOME": folder.path]
        ).wait()
        #expect(run.status == 0, "\(run.messages)")
        for (number, step) in steps.enumerated() {
            func result(_ kind: String) throws -> String {
                let text = try String(contentsOf: results.appendingPathComponent("\(number).\(kind)"), encoding: .utf8)
                return port.map { text.replacing(":\($0)", with: ":8585") } ?? text
            }
            let messages = try result("messages")
            #expect(try result("status") == "0\n", "\(step.command): \(messages)")
            let output = try result("output").split(separator: "\n").map(String.init)
            #expect(
                Self.comparable(output, folder: folder) == Self.comparable(step.output, folder: folder),
                "\(step.command)")
            // A slow run also prints lines of its progress.
            let printed = Self.comparable(messages.split(separator: "\n").map(String.init), folder: folder)
            for message in Self.comparable(step.messages, folder: folder) {
                #expect(printed.contains(message), "\(step.command)")
            }
            let warnings = printed.filter { $0.hasPrefix("uploader: ") }
            #expect(warnings.count == step.messages.count, "\(step.command): \(warnings)")
        }
    }

    /// Returns lines with placeholders for everything that differs between two runs.
    private static func comparable(_ lines: [String], folder: URL) -> [String] {
        lines.map { line in
            line.replacing(folder.path, with: "/home/me")
                .replacing(/[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}/, with: "ID")
                .replacing(/\d{4}-\d\d-\d\dT[\d:.]+Z/, with: "DATE")
                .replacing(/\d[\d.,]* (B|KiB|MiB)\b/, with: "SIZE")
                .replacing(#/ in \d[\d.]* s\b/#, with: " in TIME")
                .replacing(/\b(\d+[dhms])+ ago\b/, with: "AGE ago")
                .replacing(#/ +/#, with: " ")
        }
    }
}
