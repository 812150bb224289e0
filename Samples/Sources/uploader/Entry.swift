import LFSStorage
import UploaderKit

@main
enum Entry {
    static func main() async {
        Console.openStreams()
        // Keys and tokens are in the environment.
        CoreDumps.disable()
        OpenFiles.raiseLimit()
        // The command itself is in a library, so that tests reach its parts.
        await Uploader.start()
    }
}
