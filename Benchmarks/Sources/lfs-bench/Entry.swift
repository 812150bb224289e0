import ArgumentParser
import BenchKit

@main
enum Entry {
    static func main() async {
        // The command is in a library, so that tests can access its parts.
        await Bench.main(nil)
    }
}
