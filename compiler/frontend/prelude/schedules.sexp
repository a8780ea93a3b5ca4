; Schedules: functions of ctx that give a number, for `:lr` and any other hyper-parameter. A number is the constant one.
; A step is `(get ctx :step)`, the steps that are finished: 0 in the first one. `:steps` is the run's length unless given.

(defun %value (schedule ctx)
  (if (function? schedule) (schedule ctx) schedule))

(defun %share (ctx steps)
  "How far the run is, from 0 to 1."
  (let ((total (if (nil? steps) (get ctx :steps) steps)))
    (clamp (/ (get ctx :step) (maximum total 1)) 0.0 1.0)))

(defun warmup (steps schedule)
  "Rises to the schedule's value over the first `steps` steps: its value · (step + 1) / steps, at most once."
  (fn (ctx)
    (* (%value schedule ctx)
       (minimum (/ (+ (get ctx :step) 1) (maximum steps 1)) 1.0))))

(defun linear-decay (start &key (end 0.0) steps)
  "From `start` in a straight line to `end`."
  (fn (ctx)
    (+ start (* (- end start) (%share ctx steps)))))

(defun cosine-decay (start &key (end 0.0) steps)
  "From `start` to `end` along half a cosine."
  (fn (ctx)
    (+ end (* 0.5 (- start end) (+ 1 (cos (* 3.141592653589793 (%share ctx steps))))))))

(defun exponential-decay (start rate &key (every 1))
  "start · rate^(step / every)."
  (fn (ctx)
    (* start (pow rate (/ (get ctx :step) every)))))

(defun inverse-sqrt (peak &key (warmup 1))
  "Rises to `peak` over `:warmup` steps, then falls with the square root of the step."
  (fn (ctx)
    (let ((n (+ (get ctx :step) 1)))
      (* peak (minimum (/ n warmup) (sqrt (/ warmup n)))))))

(defun wsd (peak &key (warmup 0) decay (end 0.0) steps)
  "Warm up, stay, decay: rises over `:warmup` steps, stays at `peak`, and falls in a straight line to `end` over the
   last `:decay` steps (a fifth of the run by default)."
  (fn (ctx)
    (let* ((step (get ctx :step))
           (total (if (nil? steps) (get ctx :steps) steps))
           (fall (if (nil? decay) (* 0.2 total) decay))
           (rise (minimum (/ (+ step 1) (maximum warmup 1)) 1.0))
           (left (clamp (/ (- total step) (maximum fall 1)) 0.0 1.0)))
      (* rise (+ end (* (- peak end) left))))))

(defun piecewise (values boundaries)
  "The first value before the first boundary, the second from there to the second boundary, and so on:
   `(piecewise [1e-3 1e-4] [1000])`."
  (if (= (len values) (+ (len boundaries) 1))
      (fn (ctx) (%piece values boundaries ctx))
      (error "`piecewise` takes one value more than boundaries")))

(defun %piece (values boundaries ctx)
  (if (= (len boundaries) 0)
      (%value (first values) ctx)
      (if (< (get ctx :step) (first boundaries))
          (%value (first values) ctx)
          (%piece (rest values) (rest boundaries) ctx))))

(defun chain (schedules boundaries)
  "One schedule after the other, changing at the boundaries (steps of the run):
   `(chain [(linear-decay 1e-3 :steps 100) 1e-4] [100])`."
  (if (= (len schedules) (+ (len boundaries) 1))
      (fn (ctx) (%piece schedules boundaries ctx))
      (error "`chain` takes one schedule more than boundaries")))
