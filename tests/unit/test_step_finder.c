/* SPDX-License-Identifier: MIT */
/*
 * Steps in the launches of made programs: training, decoding, several threads, evaluations, runs
 * that are cut; none in random orders.
 */
#include "made_launches.h"

#define ROUNDS 12
#define MAIN 0

static struct program program, other;

static void begin(uint64_t round, uint32_t threads)
{
	program_begin(&program, round, threads);
}

static void end(void)
{
	program_release(&program);
	program_release(&other);
	memset(&program, 0, sizeof(program));
	memset(&other, 0, sizeof(other));
}

static uint32_t between(uint32_t least, uint32_t most)
{
	return random_between(&program.prng, least, most);
}

static bool chance(uint32_t percent)
{
	return prng_chance(&program.prng, percent);
}

/* Finds one series, of this thread, with the steps of the program. Returns it. */
static const struct step_series *expect_steps(struct program *p, uint32_t thread)
{
	program_find(p);
	EXPECT(&p->prng, p->found.count == 1);
	EXPECT(&p->prng, p->found.list[0].thread == thread);
	EXPECT(&p->prng, score_of(p, &p->found.list[0]) >= 0.99);
	return &p->found.list[0];
}

static void expect_none(struct program *p)
{
	program_find(p);
	EXPECT(&p->prng, p->found.count == 0);
	assert_null(p->found.list);
}

/* ---- models ---- */

enum { FORWARD = 1000, BACKWARD = 10000, OPTIMIZER = 20000, EVALUATION = 30000, START_UP = 40000 };

struct model {
	uint32_t forward, backward;   /* launches, of a token each */
	uint32_t parameters, kernels; /* the optimizer launches its kernels for each parameter */
	uint64_t gap;
};

static struct model random_model(void)
{
	struct model m = {.forward = between(5, 200),
			  .parameters = between(1, 50),
			  .kernels = between(1, 4),
			  .gap = between(3, 30) * US};

	m.backward = m.forward * between(1, 2);
	return m;
}

static uint32_t model_launches(const struct model *m)
{
	return m->forward + m->backward + m->parameters * m->kernels;
}

static void forward(const struct model *m, uint32_t thread)
{
	launch_each(&program, thread, FORWARD, m->forward, m->gap);
}

static void backward(const struct model *m, uint32_t thread)
{
	launch_each(&program, thread, BACKWARD, m->backward, m->gap);
}

static void optimize(const struct model *m, uint32_t thread)
{
	for (uint32_t i = 0; i < m->parameters; i++)
		launch_each(&program, thread, OPTIMIZER, m->kernels, m->gap);
}

static void train(const struct model *m)
{
	forward(m, MAIN);
	backward(m, MAIN);
	optimize(m, MAIN);
}

static void evaluate(const struct model *m, bool is_same)
{
	launch_each(&program, MAIN, is_same ? FORWARD : EVALUATION, m->forward, m->gap);
}

/* Launches what copies and fills parameters do, of several forms. */
static void start_up(uint32_t launches)
{
	switch (between(0, 2)) {
	case 0:
		launch_random(&program, MAIN, START_UP, 500, launches, 20 * US);
		return;
	case 1:
		launch_each(&program, MAIN, START_UP, launches, 20 * US);
		return;
	default:
		for (uint32_t i = 0; i < launches / 3; i++)
			launch_each(&program, MAIN, START_UP, 3, 20 * US);
	}
}

/* Makes the next step take a random share more or less: `jitter` percent. */
static void vary_pace(uint32_t jitter)
{
	program.pace = (100.0 + between(0, 2 * jitter) - jitter) / 100;
}

/* ---- training ---- */

/* The first step is slower. It tries algorithms, and makes the state of the optimizer. */
static void first_step(const struct model *m, bool is_again)
{
	program.pace = 6;
	step_begins(&program);
	for (uint32_t i = 0; i < m->forward; i++) {
		launch(&program, MAIN, FORWARD + i, m->gap);
		if (i % 20 == 3 && is_again)
			launch_again(&program, MAIN, FORWARD + i, between(1, 10), m->gap);
		else if (i % 20 == 3)
			launch_random(&program, MAIN, 50000, 1000, between(1, 20), m->gap);
	}
	backward(m, MAIN);
	launch_each(&program, MAIN, 60000, m->parameters, m->gap);
	optimize(m, MAIN);
	program.pace = 1;
}

static void train_in_rounds(const struct model *m, uint32_t warm_up, uint32_t rounds, uint32_t each)
{
	first_step(m, chance(50));
	for (uint32_t i = 1; i < warm_up + rounds * each; i++) {
		if (i >= warm_up && (i - warm_up) % each == 0)
			pass(&program, 30 * (double)MS);
		step_begins(&program);
		train(m);
	}
}

static void finds_training(void **state)
{
	(void)state;
	for (uint64_t round = 0; round < unit_rounds(ROUNDS); round++) {
		struct model m = {240, 240, 150, 4, 10 * US};
		uint32_t warm_up = 20, rounds = 5, each = 40;
		const struct step_series *series;
		uint64_t last;

		begin(round, 1);
		if (round > 0) {
			m = random_model();
			warm_up = between(3, 30);
			rounds = between(1, 6);
			each = between(10, 50);
		}
		start_up(round ? between(8, 3000) : 2000);
		train_in_rounds(&m, warm_up, rounds, each);
		last = program.now;
		launch_each(&program, MAIN, 70000, round % 2 ? between(1, 30) : 0, 10 * US);
		series = expect_steps(&program, MAIN);
		EXPECT(&program.prng, series->count == warm_up + rounds * each);
		EXPECT(&program.prng, series->starts_ns[0] == program.starts[0]);
		EXPECT(&program.prng, series->starts_ns[series->count] == last + 1);
		EXPECT(&program.prng, series->warm_up == 1);
		EXPECT(&program.prng, series->of == program.count);
		end();
	}
}

static void finds_slow_steps(void **state)
{
	(void)state;
	for (uint64_t round = 0; round < unit_rounds(ROUNDS); round++) {
		struct model m;
		uint32_t steps;

		begin(round, 1);
		m = random_model();
		steps = between(60, 300);
		for (uint32_t i = 0; i < steps; i++) {
			vary_pace(25);
			program.pace *= i % 50 == 49 ? 5 : 1;
			step_begins(&program);
			train(&m);
		}
		assert_int_equal(expect_steps(&program, MAIN)->count, steps);
		end();
	}
}

/* A few launches each 10 to 50 steps make no steps of so many. */
static void ignores_reports(void **state)
{
	(void)state;
	for (uint64_t round = 0; round < unit_rounds(ROUNDS); round++) {
		struct model m;
		uint32_t steps, each, report;

		begin(round, 1);
		m = random_model();
		m.forward += 30;
		steps = between(100, 500);
		each = 10 * between(1, 5);
		report = between(1, 3);
		start_up(between(8, 2000));
		for (uint32_t i = 0; i < steps; i++) {
			vary_pace(20);
			step_begins(&program);
			train(&m);
			if (i % each == each - 1)
				launch_each(&program, MAIN, 50000, report, 10 * US);
		}
		assert_int_equal(expect_steps(&program, MAIN)->count, steps);
		end();
	}
}

/* The program runs ahead of the GPU, and waits for it each few steps. */
static void finds_steps_of_a_program_that_waits_now_and_then(void **state)
{
	(void)state;
	for (uint64_t round = 0; round < unit_rounds(ROUNDS); round++) {
		struct model m;
		uint32_t steps, each;

		begin(round, 1);
		m = random_model();
		steps = between(80, 300);
		each = between(3, 20);
		start_up(between(8, 2000));
		for (uint32_t i = 0; i < steps; i++) {
			if (i % each == 0)
				pass(&program, (double)(each * model_launches(&m) * m.gap) *
						       between(90, 110) / 50);
			step_begins(&program);
			train(&m);
		}
		assert_int_equal(expect_steps(&program, MAIN)->count, steps);
		end();
	}
}

static void finds_accumulated_steps(void **state)
{
	(void)state;
	for (uint64_t round = 0; round < unit_rounds(ROUNDS); round++) {
		struct model m;
		uint32_t steps, batches;

		begin(round, 1);
		m = random_model();
		steps = between(10, 100);
		batches = round ? between(2, 8) : 4;
		start_up(between(0, 2000));
		for (uint32_t i = 0; i < steps; i++) {
			vary_pace(20);
			step_begins(&program);
			for (uint32_t k = 0; k < batches; k++) {
				forward(&m, MAIN);
				backward(&m, MAIN);
			}
			optimize(&m, MAIN);
		}
		assert_int_equal(expect_steps(&program, MAIN)->count, steps);
		end();
	}
}

/* An evaluation may have the launches of the forward pass, or its own. */
static void leaves_out_evaluations(void **state)
{
	(void)state;
	for (uint64_t round = 0; round < unit_rounds(2 * ROUNDS); round++) {
		struct model m;
		uint32_t epochs, steps, batches, autograd;
		uint64_t last = 0;
		const struct step_series *series;

		begin(round, 2);
		m = random_model();
		epochs = round ? between(2, 7) : 5;
		steps = round ? between(40, 100) : 60;
		batches = steps / (round ? between(3, 8) : 3);
		autograd = round / 2 % 2;
		start_up(between(8, 2000));
		for (uint32_t epoch = 0; epoch < epochs; epoch++) {
			for (uint32_t i = 0; i < steps; i++) {
				vary_pace(20);
				step_begins(&program);
				forward(&m, MAIN);
				backward(&m, autograd);
				optimize(&m, MAIN);
			}
			last = program.now;
			for (uint32_t i = 0; i < batches; i++)
				evaluate(&m, round % 2);
		}
		series = expect_steps(&program, MAIN);
		EXPECT(&program.prng, series->count == epochs * steps);
		EXPECT(&program.prng, series->starts_ns[series->count] == last + 1);
		end();
	}
}

static void finds_steps_after_a_forward_pass(void **state)
{
	(void)state;
	for (uint64_t round = 0; round < unit_rounds(ROUNDS); round++) {
		struct model m;
		uint32_t steps, passes;

		begin(round, 1);
		m = random_model();
		steps = between(30, 200);
		passes = between(1, 3);
		start_up(between(8, 1000));
		for (uint32_t i = 0; i < passes; i++)
			evaluate(&m, true);
		launch_random(&program, MAIN, START_UP, 300, chance(50) ? between(1, 1000) : 0,
			      m.gap);
		for (uint32_t i = 0; i < steps; i++) {
			vary_pace(20);
			step_begins(&program);
			train(&m);
		}
		assert_int_equal(expect_steps(&program, MAIN)->count, steps);
		end();
	}
}

static void finds_as_few_as_eight_steps(void **state)
{
	(void)state;
	for (uint32_t steps = 1; steps < 12; steps++) {
		struct model m;

		begin(steps, 1);
		m = random_model();
		m.parameters = 1;
		launch_random(&program, MAIN, START_UP, 300, 500, 10 * US);
		for (uint32_t i = 0; i < steps; i++) {
			step_begins(&program);
			train(&m);
		}
		if (steps < STEPS_MIN)
			expect_none(&program);
		else
			assert_int_equal(expect_steps(&program, MAIN)->count, steps);
		end();
	}
}

/* ---- decoding ---- */

static void finds_tokens(void **state)
{
	(void)state;
	for (uint64_t round = 0; round < unit_rounds(3 * ROUNDS); round++) {
		uint32_t tokens, few;

		begin(round, 1);
		tokens = between(50, 2000);
		few = between(3, 5);
		if (chance(30))
			launch_random(&program, MAIN, START_UP, 100, between(8, 30), 10 * US);
		for (uint32_t i = 0; i < tokens; i++) {
			pass(&program, (double)MS);
			step_begins(&program);
			/* the graph alone, or with as many launches, or with some */
			if (round % 3 == 1)
				launch_each(&program, MAIN, 50, few, 10 * US);
			else if (round % 3 == 2)
				launch_each(&program, MAIN, 50, between(3, 5), 10 * US);
			launch(&program, MAIN, 7, 10 * US);
		}
		assert_int_equal(expect_steps(&program, MAIN)->count, tokens);
		end();
	}
}

static void finds_equal_launches_of_varying_number(void **state)
{
	(void)state;
	for (uint64_t round = 0; round < unit_rounds(ROUNDS); round++) {
		begin(round, 1);
		for (uint32_t i = 0; i < 200; i++) {
			step_begins(&program);
			launch_again(&program, MAIN, 50, between(3, 5), 10 * US);
			launch(&program, MAIN, 7, 10 * US);
		}
		expect_steps(&program, MAIN);
		end();
	}
}

/* The number of layers varies, and so do a few launches. */
static void finds_steps_of_varying_length(void **state)
{
	(void)state;
	for (uint64_t round = 0; round < unit_rounds(2 * ROUNDS); round++) {
		uint32_t steps, least, head, layer, tail, extra;

		begin(round, 1);
		steps = between(100, 400);
		least = round ? between(2, 5) : 3;
		head = between(2, 10);
		layer = between(2, 15);
		tail = between(2, 10);
		extra = between(0, 3);
		start_up(chance(50) ? between(8, 2000) : 0);
		for (uint32_t i = 0; i < steps; i++) {
			uint32_t layers = between(least, 4 * least - 1), own = between(0, extra);

			vary_pace(20);
			step_begins(&program);
			launch_each(&program, MAIN, 100, head, 20 * US);
			for (uint32_t k = 0; k < layers; k++)
				launch_each(&program, MAIN, 200, layer, 20 * US);
			launch_random(&program, MAIN, 1000, 300, own, 20 * US);
			launch_each(&program, MAIN, 300, tail, 20 * US);
		}
		expect_steps(&program, MAIN);
		end();
	}
}

static void finds_steps_with_launches_of_their_own(void **state)
{
	(void)state;
	for (uint64_t round = 0; round < unit_rounds(ROUNDS); round++) {
		struct model m;
		uint32_t steps, optional;

		begin(round, 1);
		m = random_model();
		steps = between(60, 200);
		optional = between(5, 95);
		start_up(between(8, 1000));
		for (uint32_t i = 0; i < steps; i++) {
			vary_pace(20);
			step_begins(&program);
			forward(&m, MAIN);
			if (chance(optional))
				launch(&program, MAIN, 50000, m.gap);
			for (uint32_t k = 0; k < m.backward; k++) {
				launch(&program, MAIN, BACKWARD + k, m.gap);
				if (chance(10))
					launch(&program, MAIN, 60000 + between(0, 200), m.gap);
			}
			optimize(&m, MAIN);
		}
		assert_int_equal(expect_steps(&program, MAIN)->count, steps);
		end();
	}
}

/* ---- threads ---- */

static void joins_the_backward_thread(void **state)
{
	(void)state;
	for (uint64_t round = 0; round < unit_rounds(2 * ROUNDS); round++) {
		struct model m;
		uint32_t steps, batches, autograd;
		const struct step_series *series;

		begin(round, 3);
		m = random_model();
		steps = between(10, 150);
		batches = round % 2 ? between(2, 6) : 1;
		autograd = between(1, 2);
		start_up(between(0, 1000));
		for (uint32_t i = 0; i < steps; i++) {
			vary_pace(20);
			step_begins(&program);
			for (uint32_t k = 0; k < batches; k++) {
				forward(&m, MAIN);
				backward(&m, autograd);
			}
			optimize(&m, MAIN);
		}
		series = expect_steps(&program, MAIN);
		EXPECT(&program.prng, series->count == steps);
		EXPECT(&program.prng, series->of == program.count);
		EXPECT(&program.prng,
		       series->launches == steps * (batches * (m.forward + m.backward) +
						    (uint64_t)m.parameters * m.kernels));
		end();
	}
}

/* Threads that take a part in each step, as with replicas on several GPUs. */
static void joins_several_threads(void **state)
{
	(void)state;
	for (uint64_t round = 0; round < unit_rounds(ROUNDS); round++) {
		struct model m;
		uint32_t workers;

		begin(round, 10);
		m = random_model();
		workers = between(2, 8);
		start_up(between(8, 1000));
		for (uint32_t i = 0; i < 50; i++) {
			vary_pace(20);
			step_begins(&program);
			forward(&m, MAIN);
			for (uint32_t k = 1; k <= workers; k++)
				backward(&m, k);
			optimize(&m, MAIN);
		}
		assert_int_equal(expect_steps(&program, MAIN)->of, program.count);
		end();
	}
}

/* Makes a loop with this time of a step. */
static void make_loop(struct program *p, uint64_t round, uint64_t period)
{
	uint32_t launches, steps;

	program_begin(p, round, 1);
	launches = random_between(&p->prng, 1, 40);
	steps = (uint32_t)(3000 * MS / period);
	for (uint32_t i = 0; i < steps; i++) {
		p->pace = (double)random_between(&p->prng, 80, 120) / 100;
		step_begins(p);
		launch_each(p, 0, 100, launches, period / launches);
	}
}

static void separates_independent_loops(void **state)
{
	(void)state;
	for (uint64_t round = 0; round < unit_rounds(2 * ROUNDS); round++) {
		make_loop(&other, round + 1000, 13 * MS + round * MS / 2);
		make_loop(&program, round, 9 * MS);
		other.process_of[0] = round % 2;
		program_merge(&program, &other);
		program_find(&program);
		EXPECT(&program.prng, program.found.count == 2);
		EXPECT(&program.prng,
		       program.found.list[0].launches >= program.found.list[1].launches);
		for (uint32_t i = 0; i < 2; i++) {
			const struct step_series *series = &program.found.list[i];

			EXPECT(&program.prng,
			       score_of(series->thread ? &other : &program, series) >= 0.99);
		}
		end();
	}
}

/* Equal programs of several processes are not joined, even if they step together. */
static void separates_processes(void **state)
{
	(void)state;
	begin(0, 4);
	for (uint32_t i = 0; i < 4; i++)
		program.process_of[i] = i / 2;
	for (uint32_t i = 0; i < 50; i++)
		for (uint32_t thread = 0; thread < 4; thread++)
			launch_each(&program, thread, 100 * (thread % 2), 20, 10 * US);
	program_find(&program);
	assert_int_equal(program.found.count, 2);
	for (uint32_t i = 0; i < 2; i++) {
		assert_int_equal(program.found.list[i].count, 50);
		assert_int_equal(program.found.list[i].thread, 2 * i);
		assert_int_equal(program.found.list[i].of, 50 * 40);
	}
	end();
}

/* ---- runs that are cut ---- */

static void finds_steps_of_a_part_of_a_run(void **state)
{
	(void)state;
	for (uint64_t round = 0; round < unit_rounds(2 * ROUNDS); round++) {
		struct model m;
		uint32_t steps, step;

		begin(round + 100, 2);
		m = random_model();
		m.forward += 50;
		steps = between(150, 250);
		for (uint32_t i = 0; i < steps; i++) {
			vary_pace(20);
			pass(&program, (double)(m.forward * m.gap) / 4);
			step_begins(&program);
			forward(&m, MAIN);
			backward(&m, round % 2);
			optimize(&m, MAIN);
		}
		step = program.count / steps;
		program_cut(&program, between(0, 2 * step), program.count - between(0, 2 * step));
		expect_steps(&program, MAIN);
		end();
	}
}

/* ---- no steps ---- */

static void finds_nothing_in_random_orders(void **state)
{
	(void)state;
	for (uint64_t round = 0; round < unit_rounds(3 * ROUNDS); round++) {
		begin(round, 1);
		program.jitter = round % 2 ? 0.3 : 0;
		launch_random(&program, MAIN, 10, chance(50) ? between(2, 10) : between(2, 1000),
			      between(10, 20000), 20 * US);
		expect_none(&program);
		end();
	}
}

static void finds_nothing_in_shuffled_steps(void **state)
{
	(void)state;
	for (uint64_t round = 0; round < unit_rounds(2 * ROUNDS); round++) {
		struct model m;

		begin(round, 1);
		m = random_model();
		for (uint32_t i = between(8, 100); i > 0; i--)
			train(&m);
		for (uint32_t i = program.count - 1; i > 0; i--) {
			uint32_t k = between(0, i), token = program.launches[i].token;

			program.launches[i].token = program.launches[k].token;
			program.launches[k].token = token;
		}
		expect_none(&program);
		end();
	}
}

/* Requests arrive at random. All are equal, or of random launches, or have equal parts. */
static void finds_nothing_in_random_arrivals(void **state)
{
	(void)state;
	for (uint64_t round = 0; round < unit_rounds(4 * ROUNDS); round++) {
		uint32_t requests, launches, parts;
		double arrival;

		begin(round, 1);
		requests = between(100, 600);
		launches = between(1, 30);
		parts = round % 4 == 2 ? between(2, 10) : 1;
		arrival = (double)program.now;
		for (uint32_t i = 0; i < requests; i++) {
			arrival += -log(1 - random_share(&program.prng)) * launches * parts * 150 *
				   (double)US;
			if (arrival > (double)program.now)
				program.now = (uint64_t)arrival;
			if (round % 4 == 1)
				launch_random(&program, MAIN, 10, launches, launches, 15 * US);
			else if (round % 4 == 3)
				launch_each(&program, MAIN, 100 * between(1, 5), launches, 15 * US);
			else
				for (uint32_t k = 0; k < parts; k++)
					launch_each(&program, MAIN, 10, launches, 15 * US);
		}
		expect_none(&program);
		end();
	}
}

/* The rest is after the loop, or between its steps. */
static void finds_nothing_that_covers_too_little(void **state)
{
	(void)state;
	for (uint64_t round = 0; round < unit_rounds(ROUNDS); round++) {
		struct model m;
		uint32_t steps, rest;

		begin(round, 1);
		m = random_model();
		m.parameters = 1;
		steps = between(10, 100);
		rest = model_launches(&m) * between(30, 70) / 100;
		for (uint32_t i = 0; i < steps; i++) {
			train(&m);
			if (round % 2)
				launch_random(&program, MAIN, 100000, 3000, rest, m.gap);
		}
		if (round % 2 == 0)
			launch_random(&program, MAIN, 100000, 3000, steps * rest, m.gap);
		expect_none(&program);
		end();
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(finds_training),
		cmocka_unit_test(finds_slow_steps),
		cmocka_unit_test(ignores_reports),
		cmocka_unit_test(finds_steps_of_a_program_that_waits_now_and_then),
		cmocka_unit_test(finds_accumulated_steps),
		cmocka_unit_test(leaves_out_evaluations),
		cmocka_unit_test(finds_steps_after_a_forward_pass),
		cmocka_unit_test(finds_as_few_as_eight_steps),
		cmocka_unit_test(finds_tokens),
		cmocka_unit_test(finds_equal_launches_of_varying_number),
		cmocka_unit_test(finds_steps_of_varying_length),
		cmocka_unit_test(finds_steps_with_launches_of_their_own),
		cmocka_unit_test(joins_the_backward_thread),
		cmocka_unit_test(joins_several_threads),
		cmocka_unit_test(separates_independent_loops),
		cmocka_unit_test(separates_processes),
		cmocka_unit_test(finds_steps_of_a_part_of_a_run),
		cmocka_unit_test(finds_nothing_in_random_orders),
		cmocka_unit_test(finds_nothing_in_shuffled_steps),
		cmocka_unit_test(finds_nothing_in_random_arrivals),
		cmocka_unit_test(finds_nothing_that_covers_too_little),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
