import CoreMetrics
import Synchronization

/// The values of one series. The series owns them, and every call is short.
final class Series: CounterHandler, FloatingPointCounterHandler, MeterHandler, RecorderHandler, TimerHandler {
    private struct Numbers {
        /// The sum, or the last value of a gauge.
        var value = 0.0
        /// The number of recorded values.
        var count = 0
    }

    let name: SeriesName
    private let numbers = Mutex(Numbers())

    init(_ name: SeriesName) { self.name = name }

    /// Returns the lines of the series in the text format, each with a line break.
    func lines(_ name: SeriesName) -> String {
        let numbers = numbers.withLock { $0 }
        let value = Self.text(numbers.value)
        guard name.kind == .summary else { return "\(name.name)\(name.labels) \(value)\n" }
        return "\(name.name)_sum\(name.labels) \(value)\n\(name.name)_count\(name.labels) \(numbers.count)\n"
    }

    private static func text(_ value: Double) -> String {
        if value.isNaN { return "NaN" }
        if value.isInfinite { return value > 0 ? "+Inf" : "-Inf" }
        return Int(exactly: value).map { "\($0)" } ?? "\(value)"
    }

    private func add(_ value: Double) {
        numbers.withLock { numbers in
            numbers.value += value
            numbers.count += 1
        }
    }

    func increment(by amount: Int64) { add(Double(amount)) }

    func increment(by amount: Double) { add(amount) }

    func reset() { numbers.withLock { $0 = Numbers() } }

    func set(_ value: Int64) { set(Double(value)) }

    func set(_ value: Double) { numbers.withLock { $0.value = value } }

    func decrement(by amount: Double) { add(-amount) }

    func record(_ value: Int64) { record(Double(value)) }

    func record(_ value: Double) { if name.kind == .gauge { set(value) } else { add(value) } }

    func recordNanoseconds(_ duration: Int64) { add(Double(duration) / 1e9) }
}
