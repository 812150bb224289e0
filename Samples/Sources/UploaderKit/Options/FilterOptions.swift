import ArgumentParser
import Foundation
import LFSBackup

/// Which files of the folders a command takes.
struct FilterOptions: ParsableArguments {
    /// What the help of each command that has them says.
    static let discussion = """
        --include and --exclude take patterns as rclone has them, held against the path
        from the folder on: * and ? stand for anything but a slash, ** for anything, a
        slash at the start for the folder itself, one at the end for all in a folder.
        With an --include nothing else is taken; what both match is taken. Put patterns
        in quotes.
        """

    @Option(
        name: .long, parsing: .singleValue,
        help: ArgumentHelp("Take only what matches, such as '*.{jpg,heic}'; may be repeated.", valueName: "pattern"),
        transform: Self.pattern)
    var include: [PathPattern] = []

    @Option(
        name: .long, parsing: .singleValue,
        help: ArgumentHelp(
            "Leave out what matches, such as 'cache/' or '*.tmp'; may be repeated.", valueName: "pattern"),
        transform: Self.pattern)
    var exclude: [PathPattern] = []

    @Option(
        name: .long,
        help: ArgumentHelp(
            """
            Take only the paths that this file lists, one a line, from the folder on; - for the standard input. Lines \
            that begin with # or ; are passed over.
            """, valueName: "list"), completion: .file())
    var filesFrom: String?

    private static func pattern(_ text: String) throws -> PathPattern {
        do { return try PathPattern(text) } catch { throw ValidationError(error.message) }
    }

    /// Reads the list before anything is made; what is wrong with it ends the command.
    func read(json: Bool) throws -> PathFilter {
        var filter = PathFilter()
        try reportingErrors(json: json) { filter = try self.filter() }
        return filter
    }

    /// - Throws: ``UploaderError`` when the list cannot be read, or lists nothing.
    private func filter() throws -> PathFilter {
        PathFilter(including: include, excluding: exclude, listed: try filesFrom.map(Self.paths))
    }

    /// Source: rclone, "Filtering, includes and excludes", `--files-from`.
    private static func paths(of list: String) throws -> Set<AssetName> {
        var paths: Set<AssetName> = []
        for line in try bytes(of: list).split(separator: 0x0A) {
            var line = Array(line)
            if line.last == 0x0D { line.removeLast() }
            guard let first = line.first, first != UInt8(ascii: "#"), first != UInt8(ascii: ";") else { continue }
            let path = FilePath(bytes: line).absolute(from: "/").bytes.dropFirst()
            if !path.isEmpty { paths.insert(AssetName(bytes: Array(path))) }
        }
        // An empty list that took everything, or nothing in silence, would both be a surprise.
        if paths.isEmpty { throw UploaderError("\(list) lists no file.") }
        return paths
    }

    private static func bytes(of list: String) throws -> Data {
        do {
            if list == "-" { return try FileHandle.standardInput.readToEnd() ?? Data() }
            // Also a pipe, as a shell makes it of <(…).
            return try FileHandle(forReadingFrom: URL(fileURLWithPath: list)).readToEnd() ?? Data()
        } catch {
            throw UploaderError("The list \(list) cannot be read: \(Words.of(error))")
        }
    }
}

extension PathFilter {
    /// Listed paths that are in none of some folders.
    func missing(in folders: [FilePath]) -> [AssetName] {
        guard let listed else { return [] }
        let current = FileManager.default.currentDirectoryPath
        let roots = folders.map { $0.absolute(from: current) }
        return listed.filter { path in
            !roots.contains { root in
                root.appending(path.bytes).withCString { name in
                    var status = stat()
                    return lstat(name, &status) == 0 && [S_IFREG, S_IFLNK].contains(status.st_mode & S_IFMT)
                }
            }
        }.sorted { $0.bytes.lexicographicallyPrecedes($1.bytes) }
    }
}
