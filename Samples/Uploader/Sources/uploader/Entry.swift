import Foundation
import LFSStorage
import UploaderKit

@main
enum Entry {
    static func main() async {
        Console.openStreams()
        // The environment contains keys and tokens.
        CoreDumps.disable()
        OpenFiles.raiseLimit()
        do throws(StorageError) {
            try Threads.check()
        } catch {
            // The first task would already need a thread. An error of this write cannot be reported.
            try? FileHandle.standardError.write(contentsOf: Data("uploader: \(error.message)\n".utf8))
            exit(1)
        }
        // The command is in a library, so that tests can reach its parts.
        await Uploader.start()
    }
}
