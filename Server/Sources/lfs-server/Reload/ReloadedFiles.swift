import Foundation
import Logging
import Synchronization

/// Files that belong together and are read again while the server runs.
///
/// The mutex owns the content of the last attempt.
final class ReloadedFiles: Sendable {
    /// The name of the files in the log.
    let name: String
    private let paths: [String]
    private let logger: Logger
    private let use: @Sendable ([Data]) throws -> Void
    private let last = Mutex<[Data?]?>(nil)

    /// - Parameter use: puts new contents into effect, or throws and leaves the previous ones in effect.
    init(_ name: String, paths: [String], logger: Logger, use: @escaping @Sendable ([Data]) throws -> Void) {
        self.name = name
        self.paths = paths
        self.logger = logger
        self.use = use
    }

    /// Reads the files and puts their contents into effect if they have changed. Files that cannot be used are logged
    /// as an error, once for each content, and the previous contents stay in effect.
    ///
    /// - Parameter isAsked: true if an operator waits for the result. The log then has it, even if nothing has changed.
    func reload(isAsked: Bool) {
        let contents = paths.map { FileManager.default.contents(atPath: $0) }
        last.withLock { last in
            guard isAsked || contents != last else { return }
            // The files may have changed between the start and the first look.
            let isFirst = last == nil
            last = contents
            do {
                try use(
                    try zip(contents, paths).map { content, path in
                        guard let content else { throw Unreadable(path: path) }
                        return content
                    })
                guard isAsked || !isFirst else { return }
                logger.notice("Files were read again.", metadata: ["files": "\(name)"])
            } catch {
                logger.error(
                    "Files cannot be used. The previous ones stay in effect.",
                    metadata: ["files": "\(name)", "error": "\(error)"])
            }
        }
    }

    private struct Unreadable: Error, CustomStringConvertible {
        let path: String
        var description: String { "\(path) cannot be read." }
    }
}
