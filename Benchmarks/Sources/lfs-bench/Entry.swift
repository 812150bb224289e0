import ArgumentParser
import BenchKit

@main
enum Entry {
    static func main() async {
        // The command itself is in a library, so that tests reach its parts.
        await Bench.main(nil)
    }
}
