#if canImport(Glibc)
import Glibc
#elseif canImport(Musl)
import Musl
#else
import Darwin
#endif

/// The library of Tests/Faults, where the process was started with it.
enum Faults {
    static func arm() { function("faults_arm", (@convention(c) () -> Void).self)?() }
    static func count() -> Int { function("faults_count", (@convention(c) () -> Int).self)?() ?? 0 }
    static func fired() -> Int { function("faults_fired", (@convention(c) () -> Int).self)?() ?? 0 }

    private static func function<Function>(_ name: String, _ type: Function.Type) -> Function? {
        dlsym(nil, name).map { unsafeBitCast($0, to: type) }
    }
}
